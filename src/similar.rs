//! Similar turns a name that does not exist into the existing one that was meant.

/// The known name closest to `name`, if it is close enough to be a slip.
///
/// Distance is Damerau-Levenshtein; a third of the longer name may differ.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = |text: &str| text.chars().take(LONGEST).count();
    let own = length(name);
    // Most names are of another length, and a file can have thousands that miss.
    let near = |candidate: &&str| {
        let other = length(candidate);
        own.abs_diff(other) * 3 <= own.max(other) + 1
    };
    known
        .into_iter()
        .filter(near)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(steps, candidate)| {
            *steps > 0 && *steps * 3 <= name.chars().count().max(candidate.chars().count()) + 1
        })
        .min_by_key(|(steps, candidate)| (*steps, *candidate))
        .map(|(_, candidate)| candidate)
}

/// How many characters of a name are compared.
const LONGEST: usize = 200;

fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(LONGEST).collect();
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let (mut before, mut previous): (Vec<usize>, Vec<usize>) =
        (vec![0; b.len() + 1], (0..=b.len()).collect());
    for (i, x) in a.iter().enumerate() {
        let mut current = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let step = (previous[j] + usize::from(x != y)).min(previous[j + 1] + 1).min(current[j] + 1);
            let swapped = i > 0 && j > 0 && a[i - 1] == *y && *x == b[j - 1];
            current[j + 1] = if swapped { step.min(before[j - 1] + 1) } else { step };
        }
        before = previous;
        previous = current;
    }
    previous[b.len()]
}
