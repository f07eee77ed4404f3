//! Suggests an existing name for a misspelled one.

use rustc_hash::FxHashMap;

/// Number of characters compared: one bit of a `u128` each.
const LONGEST: usize = 128;

/// The known name closest to `name`, if it may be a typing error; the first in alphabetical order if
/// several are equally close.
///
/// The distance is Damerau-Levenshtein, and at most a third of the longer name.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = BitPattern::new(name);
    let mut found: Option<(usize, &str)> = None;
    for candidate in known {
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
    found.map(|(_, candidate)| candidate)
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
    use super::{LONGEST, nearest};

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
