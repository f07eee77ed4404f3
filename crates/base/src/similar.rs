//! Suggests an existing name for a misspelled one.
//!
//! [`nearest`] looks for typing errors and another case. The other functions first look for the slips that
//! people make with one kind of name: the path of a file for its name, one part of a name for the whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use strsim::osa_distance;

use crate::error::Kind;

/// Number of characters compared. The time grows with its square.
const LONGEST: usize = 128;

/// The extensions that people write behind a name.
const EXTENSIONS: [&str; 2] = [".yml", ".yaml"];

/// What the searches for the names of one question cost so far: the number of known names times the length of the
/// missing one. Where thousands of names are missing among thousands, most get no suggestion.
#[derive(Debug, Default)]
pub struct SearchCost(AtomicUsize);

/// Enough for a hundred missing names of ten letters among 2,000 others.
const MOST_COMPARED: usize = 2_000_000;

impl SearchCost {
    /// Whether the searches cost as much as they may.
    pub fn is_spent(&self) -> bool {
        self.spent() > MOST_COMPARED
    }

    /// The cost so far.
    pub fn spent(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds a search for a name among so many.
    pub fn add(&self, name: &str, known: usize) {
        self.0.fetch_add(known.saturating_mul(name.len().max(1)), Ordering::Relaxed);
    }

    /// Begins again, or where another one is.
    pub fn set(&self, cost: usize) {
        self.0.store(cost, Ordering::Relaxed);
    }

    /// The known name closest to `name`, as [`nearest`] finds it, unless earlier searches were too expensive.
    pub fn nearest<'a>(&self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        if self.is_spent() {
            return None;
        }
        let mut number = 0;
        let found = nearest(name, known.into_iter().inspect(|_| number += 1));
        self.add(name, number);
        found
    }
}

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
        .or_else(|| closest(name, known.clone(), |_, _, _| true))
        .or_else(|| {
            // A slip in the host alone.
            let bare = |name: &'a str| name.split('.').next().unwrap_or(name);
            let close =
                (!file.contains('.')).then(|| nearest(&short, known.clone().into_iter().map(bare)))??;
            first(known, |candidate| candidate.split('.').next() == Some(close))
        })
}

/// The error of a name that no node has, with the names that may be meant.
pub fn no_node<'a>(name: &str, folder: String, known: impl IntoIterator<Item = &'a str> + Clone) -> Kind {
    let similar = node(name, known.clone()).map(str::to_owned);
    let mut longer: Vec<String> = longer(name, known).map(str::to_owned).collect();
    longer.sort_unstable();
    Kind::NodeNotFound { name: name.to_owned(), folder, similar, longer }
}

/// The nodes that a short name stands for, as `web1` for `web1.example.com`.
pub fn longer<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let is_longer = move |candidate: &&str| {
        candidate.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')) && !name.is_empty()
    };
    known.into_iter().filter(is_longer)
}

/// The known class that is meant: a path stands for a file (`classes/web/init.yml`), `/` and `:` for a dot, the
/// last part for the whole name.
pub fn class<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let file = EXTENSIONS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let file = file.strip_suffix("/init").or_else(|| file.strip_suffix(".init")).unwrap_or(file);
    let file = file.trim_start_matches(['.', '/']).trim_end_matches(['.', '/', ':']);
    let below = ["classes/", "classes."].iter().find_map(|head| file.strip_prefix(head));
    part(name, below.unwrap_or(file), known)
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
/// The distance is Damerau-Levenshtein, and at most a third of the longer name, and of each part of it: another
/// word is no typing error. A name that differs only in case is the closest one.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest(name, known, has_same_words)
}

/// The closest known name for which the last function holds, which gets both names and their distance.
fn closest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    fits: impl Fn(&str, &str, usize) -> bool,
) -> Option<&'a str> {
    let (begin, length) = beginning(name);
    let mut in_another_case: Option<&str> = None;
    let mut found: Option<(usize, &str)> = None;
    for candidate in known {
        if candidate.len() == name.len() && candidate != name && candidate.eq_ignore_ascii_case(name) {
            in_another_case = Some(in_another_case.map_or(candidate, |best| best.min(candidate)));
        }
        let (candidate_begin, candidate_length) = beginning(candidate);
        let mut most = (length.max(candidate_length) + 1) / 3;
        if let Some((steps, _)) = found {
            most = most.min(steps);
        }
        if length.abs_diff(candidate_length) > most {
            continue;
        }
        let steps = osa_distance(begin, candidate_begin);
        if (1..=most).contains(&steps)
            && found.is_none_or(|best| (steps, candidate) < best)
            && !is_sibling(begin, candidate_begin)
            && fits(begin, candidate_begin, steps)
        {
            found = Some((steps, candidate));
        }
    }
    in_another_case.or(found.map(|(_, candidate)| candidate))
}

/// Whether each word of a name may be a typing error of the word at the same place of the other name. If a
/// separator is missing, the names must be nearly equal.
fn has_same_words(name: &str, other: &str, steps: usize) -> bool {
    fn words(name: &str) -> impl Iterator<Item = &str> {
        name.split(|c: char| !c.is_alphanumeric())
    }
    let alike = |(one, other): (&str, &str)| {
        let length = one.chars().count().max(other.chars().count());
        osa_distance(one, other) <= (length + 1) / 3
    };
    if words(name).count() == words(other).count() {
        words(name).zip(words(other)).all(alike)
    } else {
        steps <= 2
    }
}

/// Whether two names differ in one of their numbers alone: `web2` is another node, and no slip for `web1`.
fn is_sibling(one: &str, other: &str) -> bool {
    fn numbers(name: &str) -> impl Iterator<Item = &str> {
        name.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty())
    }
    fn text(name: &str) -> impl Iterator<Item = char> {
        name.chars().filter(|c| !c.is_ascii_digit())
    }
    let bare = |number: &str| number.trim_start_matches('0').to_owned();
    text(one).eq(text(other))
        && numbers(one).count() == numbers(other).count()
        && !numbers(one).map(bare).eq(numbers(other).map(bare))
}

/// The part of a name that is compared, and its number of characters.
fn beginning(name: &str) -> (&str, usize) {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => (&name[..end], LONGEST),
        None => (name, name.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::{class, nearest, node, path};

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
            ("wbe2", Some("web2.example.com")),
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

    #[test]
    fn slips_are_found_and_other_names_are_not() {
        for (name, expected) in [("adress", Some("address")), ("naem", Some("name")), ("port", None)] {
            assert_eq!(nearest(name, ["name", "address", "other"]), expected, "{name}");
        }
        // Another word is no typing error, and a separator may be missing.
        for (name, other) in [
            ("service.heat.server.single", "service.sensu.server.single"),
            ("service.nginx.server.single", "service.kibana.server.single"),
            ("service.elasticsearch.client", "service.glusterfs.client"),
            ("service.sphinx.server.multi", "system.sphinx.server.multi"),
            ("openstack_version", "apt_mk_version"),
        ] {
            assert_eq!(nearest(name, [other]), None, "{name}");
        }
        assert_eq!(nearest("webserver.nginx", ["web.server.nginx"]), Some("web.server.nginx"));
        assert_eq!(nearest("role.wbe", ["role.db", "role.web"]), Some("role.web"));
        // Another number is another thing, but for its zeros.
        assert_eq!(nearest("web3", ["web2", "web1", "web31"]), None);
        assert_eq!(nearest("web03", ["web2", "web3"]), Some("web3"));
        // Of equally close names the first, and of a long name the beginning.
        assert_eq!(nearest("webc", ["webb", "weba"]), Some("weba"));
        let long = "é".repeat(1_000_000);
        assert_eq!(nearest(&format!("a{long}"), [&*long]), Some(&*long));
        assert_eq!(nearest(&long, [&*format!("{long}b")]), None);
    }
}
