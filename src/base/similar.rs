//! Suggests an existing name for a misspelled one.
//!
//! [`nearest`] looks for typing errors and another case. The other functions first look for the slips that
//! people make with one kind of name: the path of a file for its name, one part of a name for the whole.

use rustc_hash::FxHashMap;

/// Number of characters compared: one bit of a `u128` each.
const LONGEST: usize = 128;

/// The extensions that people write behind a name.
const EXTENSIONS: [&str; 2] = [".yml", ".yaml"];

/// The known node that is meant: a path stands for a file (`nodes/web1.yml`), a short name for a host
/// (`web1`), a host for a short name.
pub fn node<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let file = EXTENSIONS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let file = file.rsplit('/').next().unwrap_or(file);
    let host = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let short = host(file);
    let is_short = |candidate: &str| !candidate.contains('.') || !file.contains('.');
    first(known.clone(), |candidate| candidate != name && same(candidate, file))
        .or_else(|| {
            first(known.clone(), |candidate| {
                !short.is_empty() && is_short(candidate) && candidate != name && host(candidate) == short
            })
        })
        .or_else(|| nearest(name, known))
}

/// The known class that is meant: a path stands for a file (`classes/web/init.yml`), `/` and `:` for a dot, the
/// last part for the whole name.
pub fn class<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let file = EXTENSIONS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let file = file.strip_suffix("/init").or_else(|| file.strip_suffix(".init")).unwrap_or(file);
    let file = file.trim_start_matches(['.', '/']).trim_end_matches(['.', '/', ':']);
    let below = file.strip_prefix("classes/").unwrap_or(file);
    part(name, below, known)
}

/// The known path of a parameter that is meant: `.` or `/` stand for the delimiter, `${…}` and a leading
/// `parameters:` for the path in them, the last key for the whole path.
pub fn path<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let inner = name.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or(name);
    let inner = inner.trim_matches([':', '.', '/']);
    let below =
        ["parameters:", "parameters.", "parameters/"].iter().find_map(|head| inner.strip_prefix(head));
    part(name, below.unwrap_or(inner), known)
}

/// The known name that equals `clean` or ends with it, if separators and case do not count.
fn part<'a>(name: &str, clean: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if clean.is_empty() {
        return None;
    }
    let ends = |candidate: &str| {
        let at = candidate.len().checked_sub(clean.len() + 1);
        at.and_then(|at| candidate.get(at..))
            .is_some_and(|end| end.starts_with(is_separator) && same(&end[1..], clean))
    };
    first(known.clone(), |candidate| candidate != name && same(candidate, clean))
        // The last part alone may be a typing error of another name.
        .or_else(|| nearest(name, known.clone()))
        .or_else(|| first(known, ends))
}

/// The first name that fits, in alphabetical order of the shortest ones.
fn first<'a>(known: impl IntoIterator<Item = &'a str>, fits: impl Fn(&str) -> bool) -> Option<&'a str> {
    known
        .into_iter()
        .filter(|candidate| fits(candidate))
        .min_by_key(|candidate| (candidate.len(), *candidate))
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | '/' | ':')
}

/// Whether two names are equal, if separators and case do not count.
fn same(one: &str, other: &str) -> bool {
    fn folded(name: &str) -> impl Iterator<Item = char> {
        name.chars().map(|c| if is_separator(c) { ':' } else { c }).flat_map(char::to_lowercase)
    }
    folded(one).eq(folded(other))
}

/// The known name closest to `name`, if it may be a typing error; the first in alphabetical order if
/// several are equally close.
///
/// The distance is Damerau-Levenshtein, and at most a third of the longer name. A name that differs only in
/// case is the closest one.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = name;
    let name = BitPattern::new(name);
    let mut in_another_case: Option<&str> = None;
    let mut found: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.len() == written.len() && candidate != written && candidate.eq_ignore_ascii_case(written)
        {
            in_another_case = Some(in_another_case.map_or(candidate, |best| best.min(candidate)));
        }
        let length = candidate.chars().take(LONGEST).count();
        let mut most = (name.length.max(length) + 1) / 3;
        if let Some((steps, _)) = found {
            most = most.min(steps);
        }
        if name.length.abs_diff(length) > most {
            continue;
        }
        if let Some(steps) = name.distance(candidate, length, most).filter(|steps| *steps > 0)
            && found.is_none_or(|best| (steps, candidate) < best)
        {
            found = Some((steps, candidate));
        }
    }
    in_another_case.or(found.map(|(_, candidate)| candidate))
}

/// The name to compare with: for each character, the set of its positions as bits.
struct BitPattern {
    positions: FxHashMap<char, u128>,
    length: usize,
}

impl BitPattern {
    fn new(name: &str) -> BitPattern {
        let mut positions = FxHashMap::default();
        let mut length = 0;
        for c in name.chars().take(LONGEST) {
            *positions.entry(c).or_insert(0) |= 1 << length;
            length += 1;
        }
        BitPattern { positions, length }
    }

    /// The distance to a name of this length, if it is at most `most`.
    ///
    /// Each step computes a row of the table of distances: the bits say where it rises and falls
    /// (H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003).
    fn distance(&self, other: &str, length: usize, most: usize) -> Option<usize> {
        let last = 1u128 << self.length.checked_sub(1)?;
        let (mut rises, mut falls, mut zero, mut before) = (u128::MAX, 0u128, 0u128, 0u128);
        let mut steps = self.length;
        for (index, c) in other.chars().take(LONGEST).enumerate() {
            let positions = self.positions.get(&c).copied().unwrap_or(0);
            let swapped = ((!zero & positions) << 1) & before;
            zero = ((positions & rises).wrapping_add(rises) ^ rises) | positions | falls | swapped;
            let (up, down) = (falls | !(zero | rises), zero & rises);
            steps = steps + usize::from(up & last != 0) - usize::from(down & last != 0);
            // Each remaining character can reduce the distance by one.
            if steps > most + (length - index - 1) {
                return None;
            }
            let up = up << 1 | 1;
            rises = down << 1 | !(zero | up);
            falls = up & zero;
            before = positions;
        }
        Some(steps).filter(|steps| *steps <= most)
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, class, nearest, node, path};

    #[test]
    fn slips_of_people_are_recognized() {
        let nodes = ["db1", "web1.example.com", "web1.example.org", "web2.example.com"];
        for (name, meant) in [
            ("web1", Some("web1.example.com")),
            ("WEB1", Some("web1.example.com")),
            ("Web2.Example.Com", Some("web2.example.com")),
            ("web2.example.com.yml", Some("web2.example.com")),
            ("nodes/rack/web2.example.com.yml", Some("web2.example.com")),
            ("nodes/db1.yaml", Some("db1")),
            ("db1.example.com", Some("db1")),
            ("wbe2.example.com", Some("web2.example.com")),
            ("mail", None),
            ("", None),
            ("db1", None),
        ] {
            assert_eq!(node(name, nodes), meant, "{name}");
        }
        let classes = ["base", "nginx", "nginx.server", "role.web.front"];
        for (name, meant) in [
            ("nginx/server", Some("nginx.server")),
            ("nginx:server", Some("nginx.server")),
            ("classes/nginx/init.yml", Some("nginx")),
            ("./classes/nginx/server.yml", Some("nginx.server")),
            ("Base", Some("base")),
            ("server", Some("nginx.server")),
            ("front", Some("role.web.front")),
            ("web.front", Some("role.web.front")),
            ("nginx.sever", Some("nginx.server")),
            ("/", None),
            ("postfix", None),
        ] {
            assert_eq!(class(name, classes), meant, "{name}");
        }
        let paths = ["a:b:Listen", "nginx:listen", "nginx:server:listen", "user"];
        for (name, meant) in [
            ("nginx.listen", Some("nginx:listen")),
            ("nginx/server/listen", Some("nginx:server:listen")),
            ("${nginx:listen}", Some("nginx:listen")),
            ("parameters:user", Some("user")),
            ("parameters.nginx.listen", Some("nginx:listen")),
            ("listen", Some("a:b:Listen")),
            ("server.listen", Some("nginx:server:listen")),
            ("USER", Some("user")),
            (":", None),
            ("gone", None),
        ] {
            assert_eq!(path(name, paths), meant, "{name}");
        }
    }

    /// The table of distances.
    fn distance(a: &str, b: &str) -> usize {
        let [a, b] = [a, b].map(|text| text.chars().take(LONGEST).collect::<Vec<_>>());
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = match (i, j) {
                    (0, steps) | (steps, 0) => steps,
                    _ => {
                        let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                        let steps = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                        let swaps = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                        if swaps { steps.min(table[i - 2][j - 2] + 1) } else { steps }
                    }
                };
            }
        }
        table[a.len()][b.len()]
    }

    /// Names from a small alphabet, some longer than the compared part.
    fn names() -> Vec<String> {
        let mut state = 1u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let mut names: Vec<String> = Vec::new();
        for round in 0..200 {
            let length = if round % 4 == 0 { next(140) } else { next(9) };
            let mut name: Vec<char> = (0..length).map(|_| ['a', 'b', 'é', '_'][next(4) as usize]).collect();
            names.push(name.iter().collect());
            for _ in 0..next(4) {
                let at = (next(length + 1) as usize).min(name.len());
                match next(3) {
                    0 => name.insert(at, 'b'),
                    1 if at + 1 < name.len() => name.swap(at, at + 1),
                    _ => drop((at < name.len()).then(|| name.remove(at))),
                }
            }
            names.push(name.into_iter().collect());
        }
        names
    }

    #[test]
    fn the_nearest_is_that_of_the_table_of_distances() {
        let names = names();
        for name in &names {
            let near = |candidate: &&str| {
                let steps = distance(name, candidate);
                let length = |text: &str| text.chars().take(LONGEST).count();
                (steps > 0 && steps * 3 <= length(name).max(length(candidate)) + 1).then_some(steps)
            };
            let known = names.iter().map(String::as_str);
            let expected = known.clone().filter_map(|other| Some((near(&other)?, other))).min();
            assert_eq!(nearest(name, known), expected.map(|(_, other)| other), "{name}");
        }
    }

    #[test]
    fn slips_are_found_and_other_names_are_not() {
        for (name, expected) in [("adress", Some("address")), ("naem", Some("name")), ("port", None)] {
            assert_eq!(nearest(name, ["name", "address", "other"]), expected, "{name}");
        }
    }
}
