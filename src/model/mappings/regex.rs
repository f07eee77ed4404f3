//! Translates Python's regular expressions and group templates for the regex crates (S13).

use std::fmt::Write as _;

use fancy_regex::Captures;

/// Expands a template like Python's `Match.expand`, and additionally `${1}` (S13).
pub fn expand(template: &str, captures: &Captures<'_, str>) -> Result<String, String> {
    let group = |number: usize| -> Result<&str, String> {
        if number >= captures.len() {
            return Err(format!("there is no group {number}"));
        }
        Ok(captures.get(number).map_or("", |found| found.as_str()))
    };
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['\\', '$']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).take(2).count();
        if let Some(after) = rest.strip_prefix("${") {
            let count = digits(after);
            match (after[..count].parse(), after[count..].strip_prefix('}')) {
                (Ok(number), Some(after)) if number < captures.len() => {
                    out.push_str(group(number)?);
                    rest = after;
                }
                _ => {
                    out.push_str("${");
                    rest = after;
                }
            }
        } else if let Some(after) = rest.strip_prefix("\\g<") {
            let (name, after) = after.split_once('>').ok_or("'\\g<' is not closed by '>'")?;
            if let Ok(number) = name.parse() {
                out.push_str(group(number)?);
            } else {
                let found = captures.name(name).ok_or_else(|| format!("there is no group '{name}'"))?;
                out.push_str(found.as_str());
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\\') {
            let count = digits(after);
            if let Some((c, length)) = octal(after)? {
                out.push(c);
                rest = &after[length..];
            } else if count > 0 {
                out.push_str(group(after[..count].parse().unwrap_or(usize::MAX))?);
                rest = &after[count..];
            } else {
                let c = after.chars().next().ok_or("nothing follows the last backslash")?;
                out.extend(escaped(c)?);
                rest = &after[c.len_utf8()..];
            }
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The character of an octal escape and its length: `0` with up to two digits, or three digits.
fn octal(text: &str) -> Result<Option<(char, usize)>, String> {
    let count = text.chars().take_while(|c| c.is_digit(8)).take(3).count();
    if count < 3 && !text.starts_with('0') {
        return Ok(None);
    }
    let number = u32::from_str_radix(&text[..count], 8).unwrap_or_default();
    match u8::try_from(number) {
        Ok(byte) => Ok(Some((char::from(byte), count))),
        Err(_) => Err(format!("'\\{}' is not a character", &text[..count])),
    }
}

/// The character of an escape. Other characters keep their backslash.
fn escaped(c: char) -> Result<impl Iterator<Item = char>, String> {
    let one = match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' => '\\',
        c if c.is_ascii_alphabetic() => return Err(format!("'\\{c}' means nothing")),
        c => return Ok(Some('\\').into_iter().chain(Some(c))),
    };
    Ok(None.into_iter().chain(Some(one)))
}

/// Translates a Python pattern so that the regex crates match the same. In a character class, `[` and
/// the pairs `&&`, `~~` and `--` are literal; `\<` and `\>` are no word boundaries; and a brace that is no repetition is
/// literal. Syntax that Python lacks is an error, as in Python: a recursive pattern (`\g<0>`, `(?R)`) could
/// take unbounded memory.
pub fn translate(pattern: &str) -> Result<String, String> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len() + 8);
    let (mut at, mut class_start) = (0, None);
    while at < chars.len() {
        let c = chars[at];
        match (c, class_start) {
            ('\\', _) => {
                let next = chars.get(at + 1).copied();
                match next {
                    Some('Z') => out.push_str("\\z"),
                    Some(c @ ('<' | '>')) => out.push(c),
                    Some(c) if c.is_ascii_alphabetic() && !ESCAPES.contains(c) => {
                        return Err(format!("bad escape \\{c}"));
                    }
                    Some(c) => {
                        out.push('\\');
                        out.push(c);
                    }
                    None => out.push('\\'),
                }
                at += 1;
            }
            ('(', None) if chars.get(at + 1) == Some(&'?') => {
                let extension: String = chars[at + 2..].iter().take(2).collect();
                if !is_extension(&extension) {
                    return Err(format!("unknown extension ?{extension}"));
                }
                out.push('(');
            }
            ('[', None) => {
                out.push('[');
                if chars.get(at + 1) == Some(&'^') {
                    out.push('^');
                    at += 1;
                }
                if chars.get(at + 1) == Some(&']') {
                    out.push_str("\\]");
                    at += 1;
                }
                class_start = Some(at);
            }
            (']', Some(_)) => {
                out.push(']');
                class_start = None;
            }
            ('[' | '&' | '~', Some(_)) => {
                let _ = write!(out, "\\{c}");
            }
            ('{', None) => {
                let inside: String = chars[at + 1..].iter().take_while(|c| **c != '}').collect();
                let closed = at + 1 + inside.chars().count() < chars.len();
                let repetition = closed
                    && inside != ","
                    && !inside.is_empty()
                    && inside.chars().all(|c| c.is_ascii_digit() || c == ',')
                    && inside.matches(',').count() <= 1;
                if repetition && inside.starts_with(',') {
                    out.push_str("{0");
                } else {
                    out.push_str(if repetition { "{" } else { "\\{" });
                }
            }
            ('}', None) => {
                let open = out.rfind('{');
                let repetition = open.is_some_and(|open| {
                    !out[..open].ends_with('\\')
                        && out[open + 1..].chars().all(|c| c.is_ascii_digit() || c == ',')
                });
                out.push_str(if repetition { "}" } else { "\\}" });
            }
            _ => out.push(c),
        }
        at += 1;
    }
    Ok(out)
}

/// The letters that Python allows after a backslash.
const ESCAPES: &str = "AbBdDsSwWZafnrtvxuUN";

/// Whether Python has an extension that begins with this text after `(?`.
fn is_extension(text: &str) -> bool {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('P'), next) => next.is_none_or(|next| matches!(next, '<' | '=')),
        (Some('<'), next) => next.is_none_or(|next| matches!(next, '=' | '!')),
        (Some('-'), next) => next.is_none_or(|next| next.is_ascii_alphabetic()),
        (Some(first), _) => matches!(first, ':' | '#' | '=' | '!' | '(' | '>') || "aiLmsux".contains(first),
        (None, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_pythons() {
        // Python's `re.compile` accepts the first list and rejects the second.
        for pattern in [
            r"(?P<n>a)(?P=n)",
            r"(?:a)(?=a)(?!a)(?<=a)(?<!a)",
            r"(?i)a",
            r"(?i:a)",
            r"(?-i:a)",
            r"(a)?(?(1)b|c)",
            r"(?>a)",
            r"(?#x)a",
            r"\A\bB\B\d\D\s\S\w\W\Z",
            r"\a\f\n\r\t\v\x41\u0041",
            r"\.\-\/\#\<",
            r"[\b\d(?&]",
        ] {
            let translated = translate(pattern).expect("Python takes it");
            assert!(fancy_regex::Regex::new(&translated).is_ok(), "{pattern}");
        }
        for pattern in [
            r"\g0", r"a\g<0>", r"(?R)", r"(?&n)", r"(?P>n)", r"(?1)", r"(?<n>a)", r"(?|a|b)", r"\K", r"\h",
            r"\G", r"[\z]", r"(?-1)", r"(?+1)", r"(?~a)",
        ] {
            assert!(translate(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn templates_are_pythons() {
        // The answers of Python's `re.match('(a)(b)?', 'ac').expand(template)`.
        let captures = fancy_regex::Regex::new("(a)(b)?").expect("it compiles").captures("ac");
        let captures = captures.expect("it ends").expect("it matches");
        for (template, expected) in [
            (r"\0", Some("\0")),
            (r"\08", Some("\u{0}8")),
            (r"\012x", Some("\nx")),
            (r"\1011", Some("A1")),
            (r"\400", None),
            (r"\8", None),
            (r"\18", None),
            (r"\n\\", Some("\n\\")),
            (r"\-x\.", Some(r"\-x\.")),
            (r"\q", None),
            (r"\", None),
            (r"\g<0>\g<2>\2x", Some("ax")),
        ] {
            assert_eq!(expand(template, &captures).ok().as_deref(), expected, "{template}");
        }
    }
}
