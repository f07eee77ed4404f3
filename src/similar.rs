//! Similar turns a name that does not exist into the existing one that was meant.

/// The known name closest to `name`, if it is close enough to be a slip.
///
/// Distance is Damerau-Levenshtein; a third of the longer name may differ.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(steps, candidate)| {
            *steps > 0 && *steps * 3 <= name.chars().count().max(candidate.chars().count()) + 1
        })
        .min_by_key(|(steps, candidate)| (*steps, *candidate))
        .map(|(_, candidate)| candidate)
}

fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(200).collect();
    let b: Vec<char> = b.chars().take(200).collect();
    if a.len().abs_diff(b.len()) * 3 > a.len().max(b.len()) + 1 {
        return usize::MAX / 4;
    }
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
