//! Patterns for names and paths, as users type them.
//!
//! A name is a glob as in class mappings (`*`, `?`, `[a-z]`). A path is written as in references,
//! `linux:system:name`; each of its keys may be a glob, and `**` stands for any number of keys.

use std::str::Chars;

use crate::path::{list_index, split_path};
use crate::value::{Key, Text};

/// A glob for names: Python's `fnmatch.fnmatchcase` with `*`, `?`, `[abc]`, `[a-z]`, `[!abc]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glob {
    tokens: Vec<GlobToken>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum GlobToken {
    /// `*`
    Star,
    /// `?`
    Any,
    /// A character that stands for itself.
    One(char),
    /// A `[…]`: ranges of characters.
    Set { ranges: Vec<(char, char)>, negated: bool },
}

impl GlobToken {
    fn is(&self, c: char) -> bool {
        match self {
            GlobToken::Star => false,
            GlobToken::Any => true,
            GlobToken::One(one) => *one == c,
            GlobToken::Set { ranges, negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *negated
            }
        }
    }
}

/// True if the text has wildcards. A pattern may match nothing; a name must exist.
pub fn is_wild(text: &str) -> bool {
    text.contains(WILDCARDS)
}

/// The characters that mean more than themselves.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// Appends a glob that matches this text alone.
pub fn push_escaped(glob: &mut String, text: &str) {
    for c in text.chars() {
        if WILDCARDS.contains(&c) {
            glob.extend(['[', c, ']']);
        } else {
            glob.push(c);
        }
    }
}

impl Glob {
    /// Parses a glob; every text is valid.
    pub fn new(text: &str) -> Glob {
        let chars: Vec<char> = text.chars().collect();
        let mut rest = chars.as_slice();
        // Behind the last `]` no `[` is looked up: a text of many would be read as often.
        let behind_sets = chars.iter().rev().take_while(|c| **c != ']').count();
        let mut tokens = Vec::with_capacity(rest.len());
        while let [first, behind @ ..] = rest {
            let (token, behind) = match first {
                '*' => (GlobToken::Star, behind),
                '?' => (GlobToken::Any, behind),
                '[' if rest.len() > behind_sets => set(rest).unwrap_or((GlobToken::One('['), behind)),
                one => (GlobToken::One(*one), behind),
            };
            tokens.push(token);
            rest = behind;
        }
        Glob { tokens }
    }

    /// True if the name matches. A glob without wildcards matches only itself.
    pub fn matches(&self, name: &str) -> bool {
        let tokens = self.tokens.as_slice();
        let (mut at, mut rest) = (0, name.chars());
        // The token after the last `*`, and the rest of the name where it was tried last.
        let mut star: Option<(usize, Chars<'_>)> = None;
        loop {
            if let Some(GlobToken::Star) = tokens.get(at) {
                at += 1;
                if at == tokens.len() {
                    return true;
                }
                let Some(start) = from_token(&tokens[at], rest) else { return false };
                rest = start.clone();
                star = Some((at, start));
                continue;
            }
            let mut behind = rest.clone();
            let Some(c) = behind.next() else { break };
            if tokens.get(at).is_some_and(|token| token.is(c)) {
                (at, rest) = (at + 1, behind);
                continue;
            }
            let Some((from, tried)) = &mut star else { return false };
            tried.next();
            let Some(start) = from_token(&tokens[*from], tried.clone()) else { return false };
            *tried = start;
            (at, rest) = (*from, tried.clone());
        }
        tokens[at..].iter().all(|token| matches!(token, GlobToken::Star))
    }
}

/// The rest of a name from the first character that may be the token after a `*`; `None` if there is none.
/// Most names do not have the character at all, and are done with here.
fn from_token<'n>(token: &GlobToken, rest: Chars<'n>) -> Option<Chars<'n>> {
    match token {
        GlobToken::One(c) if c.is_ascii() => {
            let text = rest.as_str();
            // An ASCII byte is never part of another character.
            let start = text.bytes().position(|byte| char::from(byte) == *c)?;
            Some(text[start..].chars())
        }
        _ => Some(rest),
    }
}

/// True if any of the globs matches, or if there are no globs.
pub fn chosen(globs: &[Glob], name: &str) -> bool {
    globs.is_empty() || globs.iter().any(|glob| glob.matches(name))
}

/// One key of a path pattern.
#[derive(Clone, Debug)]
enum Segment {
    /// `**`
    Any,
    /// A key, and its text.
    One(Glob, Text),
}

impl Segment {
    /// True if it matches the key. A name with a bracket also matches literally.
    fn is(glob: &Glob, written: &str, name: &str) -> bool {
        written == name || glob.matches(name)
    }
}

/// A pattern of paths: a glob for each key, and `**` for any number of keys.
#[derive(Clone, Debug)]
pub struct PathPattern {
    segments: Vec<Segment>,
    /// The text of the pattern.
    pub source: String,
}

impl PathPattern {
    /// Parses a pattern; every text is valid.
    pub fn new(text: &str, delimiter: &str) -> PathPattern {
        let segments = split_path(text, delimiter).into_iter().map(|segment| match &*segment {
            "**" => Segment::Any,
            one => Segment::One(Glob::new(one), segment),
        });
        PathPattern { segments: segments.collect(), source: text.to_owned() }
    }

    /// The state before the first key.
    pub fn start(&self) -> Progress {
        self.closed([0].into_iter())
    }

    /// The state after one more key.
    pub fn step(&self, progress: &Progress, key: &Key) -> Progress {
        let name = crate::pystr::str(&key.0);
        self.stepped(progress, |glob, written| Segment::is(glob, written, &name))
    }

    /// The state after an item of a list. Its index may be negative, as in references (R10).
    pub fn step_item(&self, progress: &Progress, item: usize, length: usize) -> Progress {
        let name = item.to_string();
        self.stepped(progress, |glob, written| {
            Segment::is(glob, written, &name) || list_index(written, length) == Some(item)
        })
    }

    /// The state after any key: only `*` and `**` match it.
    pub fn step_any(&self, progress: &Progress) -> Progress {
        self.stepped(progress, |_, written| written == "*")
    }

    fn stepped(&self, progress: &Progress, is: impl Fn(&Glob, &str) -> bool) -> Progress {
        let next = progress.0.iter().filter_map(|at| match self.segments.get(*at)? {
            Segment::Any => Some(*at),
            Segment::One(glob, written) => is(glob, written).then_some(at + 1),
        });
        self.closed(next)
    }

    /// True if the keys so far match the whole pattern.
    pub fn is_match(&self, progress: &Progress) -> bool {
        progress.0.contains(&self.segments.len())
    }

    /// True if the path matches.
    #[cfg(test)]
    pub fn matches(&self, path: &[Key]) -> bool {
        let end = path.iter().fold(self.start(), |progress, key| self.step(&progress, key));
        self.is_match(&end)
    }

    /// Adds the positions reachable without a key: `**` matches zero keys. The positions come in order.
    fn closed(&self, places: impl Iterator<Item = usize>) -> Progress {
        let mut all: Vec<usize> = Vec::new();
        for mut place in places {
            // Of a position that is there already, those reachable from it are there too.
            while all.last().is_none_or(|last| *last < place) {
                all.push(place);
                place += usize::from(matches!(self.segments.get(place), Some(Segment::Any)));
            }
        }
        Progress(all)
    }
}

/// The set of positions in a pattern that a path can have reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress(Vec<usize>);

impl Progress {
    /// True if no further key can lead to a match.
    pub fn is_dead(&self) -> bool {
        self.0.is_empty()
    }
}

/// The `[…]` at the start of a glob, and the rest of the glob; `None` if it is not closed.
fn set(glob: &[char]) -> Option<(GlobToken, &[char])> {
    let negated = glob.get(1) == Some(&'!');
    let start = if negated { 2 } else { 1 };
    let end = (start + 1..glob.len()).find(|at| glob[*at] == ']')?;
    let mut inside = &glob[start..end];
    let mut ranges = Vec::new();
    loop {
        inside = match inside {
            [first, '-', last, rest @ ..] => {
                ranges.push((*first, *last));
                rest
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                rest
            }
            [] => return Some((GlobToken::Set { ranges, negated }, &glob[end + 1..])),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_fnmatch() {
        for (glob, name, matches) in [
            ("*", "", true),
            ("*.ch", "a.ch", true),
            ("a?c", "abc", true),
            ("a[!b]c", "abc", false),
            ("a[a-c]c", "abc", true),
            ("[", "[", true),
            ("[]]", "]", true),
            ("*a*b", "xaxxb", true),
            ("*a*b", "xaxxbc", false),
            ("*ab", "aab", true),
            ("*ab", "a", false),
            ("*é?", "aéé", true),
            ("a**", "a", true),
            ("*?", "", false),
            ("[!a]*[-_]x", "bé_x", true),
            ("[a-", "[a-", true),
            ("[!]", "[!]", true),
            ("[]-]", "-", true),
            ("*[", "a[", true),
        ] {
            assert_eq!(Glob::new(glob).matches(name), matches, "{glob} {name}");
        }
    }

    #[test]
    fn paths_match_key_by_key() {
        for (pattern, path, expected) in [
            ("a:b", "a:b", true),
            ("a:b", "a", false),
            ("a:*", "a:b", true),
            ("a:*", "a:b:c", false),
            ("a:**", "a", true),
            ("a:**", "a:b:c", true),
            ("**:c", "a:b:c", true),
            ("**:c", "c", true),
            ("a:[bx]*", "a:bee", true),
            (r"a\:b", r"a\:b", true),
            ("a[0]", "a[0]", true),
            ("", "", true),
        ] {
            let keys: Vec<Key> = split_path(path, ":").into_iter().map(Key::from).collect();
            assert_eq!(PathPattern::new(pattern, ":").matches(&keys), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn items_match_by_the_indexes_of_references() {
        for (pattern, item, expected) in [
            ("-1", 2, true),
            ("-1", 1, false),
            ("+1", 1, true),
            ("1_0", 10, false),
            ("-4", 0, false),
            ("*", 1, true),
        ] {
            let pattern = PathPattern::new(pattern, ":");
            let end = pattern.step_item(&pattern.start(), item, 3);
            assert_eq!(pattern.is_match(&end), expected, "{pattern:?} {item}");
        }
    }
}
