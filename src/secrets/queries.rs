//! Queries turn the text of inventory queries into the same without what they compare with a secret.
//!
//! The text alone is looked at, not the grammar: also of a query that cannot be read nothing may be shown.

use super::Secrets;

/// Words that are no data.
const KEYWORDS: [&str; 5] = ["if", "and", "or", "+allenvs", "+ignoreerrors"];

impl Secrets {
    /// Whether the inside of a query names a path that leads to or through a secret.
    pub(super) fn is_secret_query(&self, query: &str) -> bool {
        words(query).any(|(word, is_word)| is_word && self.is_secret_path(word))
    }

    /// A text with `mask` of each word of its queries that name a secret, but for the paths of exports
    /// and parameters. A query without an end goes to the end of the text, one with several to the last
    /// in its line.
    pub(super) fn queries(&self, text: &str, mask: impl Fn(&str) -> String) -> String {
        let (open, close) = (self.sentinels.0.as_str(), self.sentinels.1.as_str());
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(open).filter(|_| !self.keys.is_empty() && !open.is_empty()) {
            let (before, query) = rest.split_at(start + open.len());
            out.push_str(before);
            let query = query.get(..end(query, open, close)).unwrap_or(query);
            if self.is_secret_query(query) {
                for (word, is_word) in words(query) {
                    if is_word && !self.stays(word) { out.push_str(&mask(word)) } else { out.push_str(word) }
                }
            } else {
                out.push_str(query);
            }
            rest = &rest[before.len() + query.len()..];
        }
        out.push_str(rest);
        out
    }

    /// Whether a word of a query is a keyword or a path.
    fn stays(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let is_path = |of: &str| word.strip_prefix(of).is_some_and(|rest| rest.starts_with(&self.delimiter));
        KEYWORDS.contains(&word.as_str()) || is_path("exports") || is_path("self")
    }
}

/// Where a query ends, in bytes.
fn end(text: &str, open: &str, close: &str) -> usize {
    let Some(first) = text.find(close) else { return text.len() };
    let line = text[first..].find('\n').map_or(text.len(), |at| first + at);
    let line = text[first..line].find(open).map_or(line, |at| first + at);
    text[first..line].rfind(close).map_or(first, |at| first + at)
}

/// The words of a text and what stands between them; operators and quotes are no words.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let between = |c: char| c.is_whitespace() || matches!(c, '=' | '!' | '\'' | '"');
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_word = !between(rest.chars().next()?);
        let end = rest.find(|c| between(c) == is_word).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some((part, is_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::value::Map;

    #[test]
    fn what_is_compared_with_a_secret_is_masked() {
        let secrets =
            Secrets::of(&Settings::from_options(&Map::default()).expect("the defaults are right").0);
        for (text, expected) in [
            (
                "q: $[ exports:foo if exports:password == HUNTER HUNTER ]",
                "q: $[ exports:foo if exports:password == _ _ ]",
            ),
            ("$[ if self:password == HUNTER ] b", "$[ if self:password == _ ] b"),
            ("$[if exports:a:token!=HUNTER]", "$[if exports:a:token!=_]"),
            ("$[ +AllEnvs if HUNTER == exports:password", "$[ +AllEnvs if _ == exports:password"),
            ("$[ exports:password\n  == HUN]TER ]\nx: [1]", "$[ exports:password\n  == _ ]\nx: [1]"),
            ("$[ if password == HUNTER ] $[ if exports:a == b ]", "$[ if _ == _ ] $[ if exports:a == b ]"),
            ("$[ exports:a if exports:b == c ] password", "$[ exports:a if exports:b == c ] password"),
        ] {
            assert_eq!(secrets.queries(text, |_| "_".to_owned()), expected);
        }
    }
}
