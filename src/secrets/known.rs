//! Known turns secrets that were met into a search for their texts in others.
//!
//! All of them are looked for at once: an inventory has tens of thousands, and as many texts in which
//! one may stand.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use rustc_hash::FxHashSet;

use super::MASK;

/// A text shorter than this is not looked for in other values: it would be found by chance.
const SHORTEST: usize = 4;

/// How many bytes all texts have at most that are looked for at once: the search takes some ten times as
/// much memory.
const AT_ONCE: usize = 8 << 20;

/// The texts that are known to be secret.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    words: FxHashSet<Arc<str>>,
    search: OnceLock<Arc<Search>>,
}

/// What all of them are looked for with.
#[derive(Debug)]
struct Search {
    together: Option<AhoCorasick>,
    /// Those that are looked for one by one.
    alone: Vec<Arc<str>>,
}

impl Known {
    /// Learns a text, if it is long enough.
    pub fn learn(&mut self, text: &str) {
        if text.len() >= SHORTEST && !self.words.contains(text) {
            self.words.insert(text.into());
            self.search = OnceLock::new();
        }
    }

    /// Whether a text is one of them.
    pub fn is(&self, text: &str) -> bool {
        self.words.contains(text)
    }

    /// A text with the mask where any of them stand.
    pub fn masked(&self, text: &str) -> String {
        self.replaced(text, |_, out| out.push_str(MASK))
    }

    /// A text in which something else is written where any of them stand.
    pub fn replaced(&self, text: &str, write: impl Fn(&str, &mut String)) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for range in self.ranges(text) {
            out.push_str(&text[at..range.start]);
            write(&text[range.clone()], &mut out);
            at = range.end;
        }
        out.push_str(&text[at..]);
        out
    }

    /// Where any of them stand in a text, in order; those that overlap are one.
    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.words.is_empty() || text.len() < SHORTEST {
            return found;
        }
        let search = self.search.get_or_init(|| Arc::new(Search::of(&self.words)));
        if let Some(together) = &search.together {
            // Very many in one another tell that all of it is made of them.
            let most = 64 + 4 * text.len();
            for (number, one) in together.find_overlapping_iter(text).enumerate() {
                if number == most {
                    found.push(0..text.len());
                    break;
                }
                found.push(one.range());
            }
        }
        for word in search.alone.iter().filter(|word| word.len() <= text.len()) {
            found.extend(text.match_indices(&**word).map(|(at, word)| at..at + word.len()));
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        found.dedup_by(|next, range| {
            let overlap = next.start < range.end;
            if overlap {
                range.end = range.end.max(next.end);
            }
            overlap
        });
        found
    }
}

impl Search {
    fn of(words: &FxHashSet<Arc<str>>) -> Search {
        let mut words: Vec<Arc<str>> = words.iter().cloned().collect();
        words.sort_unstable_by_key(|word| word.len());
        let mut bytes = 0;
        let fits = words.iter().take_while(|word| {
            bytes += word.len();
            bytes <= AT_ONCE
        });
        let fits = fits.count();
        let together = AhoCorasick::new(words[..fits].iter().map(|word| word.as_bytes())).ok();
        let alone = words.split_off(if together.is_some() { fits } else { 0 });
        Search { together, alone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(words: &[&str]) -> Known {
        let mut known = Known::default();
        for word in words {
            known.learn(word);
        }
        known
    }

    #[test]
    fn what_overlaps_is_masked_as_one() {
        let known = known(&["abcd", "cdefgh", "bcd1", "abc", "zzzz"]);
        assert_eq!(known.masked("-abcdefgh-abcd-abc-"), "-***-***-abc-");
        assert_eq!(known.masked("zzzzz zzz"), "*** zzz");
        assert!(known.is("abcd") && !known.is("abc"));
    }

    #[test]
    fn texts_within_one_another_take_no_time() {
        let words: Vec<String> = (4..3_000).map(|length| "z".repeat(length)).collect();
        let known = known(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(known.masked(&format!("a{}", "z".repeat(3_000))), MASK);
    }

    #[test]
    fn very_long_ones_are_found_too() {
        let long = "x".repeat(AT_ONCE + 1);
        let known = known(&[&long, "word"]);
        assert_eq!(known.masked(&format!("a{long}b word")), "a***b ***");
    }
}
