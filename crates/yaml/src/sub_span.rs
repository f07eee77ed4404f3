//! Locates a part of a scalar in the file, for labels of references in strings.
//!
//! The value of a scalar has no quotes, escapes, indentation and folded lines. So this code reads the
//! text again and counts the bytes of the value. The result is approximate for unusual folding, but
//! never outside of the file.

use reclass_base::source::Site;

/// Maximum bytes of a scalar to read. What is further from its start has the position of the whole scalar.
const MOST_BYTES: usize = 64 * 1024;

/// The positions of the characters of one scalar.
pub struct ScalarPositions {
    site: Site,
    positions: Vec<CharPosition>,
}

impl ScalarPositions {
    /// Reads the scalar at `site`, up to `limit` bytes of its value. `scalar` is the file from the scalar on.
    pub fn read(site: &Site, scalar: &[u8], limit: usize) -> ScalarPositions {
        let text = String::from_utf8_lossy(scalar.get(..MOST_BYTES).unwrap_or(scalar));
        let positions = positions(site, &text, limit).unwrap_or_default();
        ScalarPositions { site: site.clone(), positions }
    }

    /// The position of a part, by its byte offset and length in the value; that of the whole scalar if it cannot be
    /// located.
    pub fn part(&self, (offset, length): (usize, usize)) -> Site {
        let first = self.positions.partition_point(|position| position.value < offset);
        let Some(start) = self.positions.get(first) else { return self.site.clone() };
        let within = self.positions[first..].iter().take_while(|position| position.value < offset + length);
        let last = within.take_while(|position| position.line == start.line).last();
        let length = last.map_or(0, |last| last.column + 1 - start.column);
        Site { path: self.site.path.clone(), line: start.line, column: start.column, length }
    }
}

/// The position of `within` (byte offset and length in the value of the scalar at `site`).
///
/// `scalar` is the file from the scalar on. Returns the position of the whole scalar if the part cannot
/// be located, or is too far from its start.
pub fn sub_span(site: &Site, within: (u32, u32), scalar: &[u8]) -> Site {
    let (offset, length) = (within.0 as usize, within.1 as usize);
    ScalarPositions::read(site, scalar, offset + length).part((offset, length))
}

/// The position of one character of the value.
struct CharPosition {
    /// The offset in the value.
    value: usize,
    /// From one.
    line: u32,
    /// From one, in characters.
    column: u32,
}

/// Reads the scalar that begins at `site`, up to `limit` bytes of its value.
fn positions(site: &Site, text: &str, limit: usize) -> Option<Vec<CharPosition>> {
    let lines: Vec<&str> = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let mut reader = ScalarReader { positions: Vec::new(), value: 0, limit };
    let mut column = (site.column as usize).checked_sub(1)?;
    let mut rest: Vec<char> = lines.first()?.chars().collect();
    // Anchor and tag are part of the node.
    while matches!(rest.first(), Some('&' | '!')) {
        let word = rest.iter().take_while(|c| !c.is_whitespace()).count();
        let gap = rest.iter().skip(word).take_while(|c| c.is_whitespace()).count();
        rest.drain(..word + gap);
        column += word + gap;
    }
    match rest.first()? {
        '|' | '>' => reader.block(&lines, site.line),
        quote @ ('\'' | '"') => {
            let quote = *quote;
            rest.remove(0);
            reader.flow(&rest, column + 1, &lines, site.line, Some(quote));
        }
        _ => reader.flow(&rest, column, &lines, site.line, None),
    }
    Some(reader.positions)
}

struct ScalarReader {
    positions: Vec<CharPosition>,
    value: usize,
    limit: usize,
}

impl ScalarReader {
    /// True if enough of the value has been read.
    fn done(&self) -> bool {
        self.value >= self.limit
    }

    /// Records a character of the value with its bytes and its column, from zero.
    fn push(&mut self, bytes: usize, line: u32, column: usize) {
        let column = u32::try_from(column).unwrap_or(u32::MAX - 1) + 1;
        self.positions.push(CharPosition { value: self.value, line, column });
        self.value += bytes;
    }

    /// A literal or folded scalar: the lines after the header, without indentation. A line break is one
    /// byte (a newline or a space).
    fn block(&mut self, lines: &[&str], first: u32) {
        let body = lines.get(1..).unwrap_or_default();
        let blank = |line: &&&str| line.trim_start_matches(' ').is_empty();
        let width = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let Some(indent) = body.iter().find(|line| !blank(line)).map(|line| width(line)) else { return };
        for (number, line) in (first + 1..).zip(body) {
            if self.done() || (!line.trim().is_empty() && width(line) < indent) {
                return;
            }
            for (column, c) in line.chars().enumerate().skip(indent) {
                self.push(c.len_utf8(), number, column);
            }
            self.value += 1;
        }
    }

    /// A plain or quoted scalar; lines are joined with a space, or with one newline per blank line.
    fn flow(&mut self, rest: &[char], column: usize, lines: &[&str], first: u32, quote: Option<char>) {
        let Some(gap) = self.line(rest, column, first, quote) else { return };
        let mut joined = gap;
        let mut blanks = 0;
        for (number, line) in (first + 1..).zip(lines.get(1..).unwrap_or_default()) {
            if self.done() {
                return;
            }
            let text: Vec<char> = line.chars().collect();
            let indent = text.iter().take_while(|c| matches!(c, ' ' | '\t')).count();
            if indent == text.len() {
                blanks += 1;
                continue;
            }
            self.value += if joined { blanks.max(1) } else { blanks };
            blanks = 0;
            match self.line(text.get(indent..).unwrap_or_default(), indent, number, quote) {
                Some(gap) => joined = gap,
                None => return,
            }
        }
    }

    /// One line of a plain or quoted scalar. `None` at the closing quote, false if an escaped line break
    /// joins the next line without a space.
    fn line(&mut self, text: &[char], column: usize, number: u32, quote: Option<char>) -> Option<bool> {
        let trailing = text.iter().rev().take_while(|c| c.is_whitespace()).count();
        let text = text.get(..text.len() - trailing).unwrap_or_default();
        let mut at = 0;
        while let Some(&c) = text.get(at) {
            if self.done() {
                return None;
            }
            let (bytes, width) = match (quote, c, text.get(at + 1)) {
                (Some('\''), '\'', Some('\'')) => (1, 2),
                (Some('\''), '\'', _) | (Some('"'), '"', _) => return None,
                (Some('"'), '\\', None) => return Some(false),
                (Some('"'), '\\', Some(escape)) => escaped(*escape, text.get(at + 2..).unwrap_or_default()),
                _ => (c.len_utf8(), 1),
            };
            self.push(bytes, number, column + at);
            at += width;
        }
        Some(true)
    }
}

/// The bytes in the value, and the characters in the text, of a `\…` escape.
fn escaped(escape: char, digits: &[char]) -> (usize, usize) {
    let count = match escape {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        // NEL and NBSP take two bytes of UTF-8, the line and paragraph separators three.
        'N' | '_' => return (2, 2),
        'L' | 'P' => return (3, 2),
        c if c.is_ascii() => return (1, 2),
        c => return (c.len_utf8(), 2),
    };
    let code: String = digits.iter().take(count).collect();
    let c = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
    (c.map_or(1, char::len_utf8), 2 + count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The located part of the scalar after `a: `.
    fn part(text: &str, offset: u32, length: u32) -> (u32, u32, u32) {
        let site = Site { path: "f".into(), line: 1, column: 4, length: 0 };
        let narrowed = sub_span(&site, (offset, length), text.as_bytes().get(3..).unwrap_or_default());
        (narrowed.line, narrowed.column, narrowed.length)
    }

    #[test]
    fn scalars_of_every_style() {
        assert_eq!(part("a: x ${b} y", 2, 4), (1, 6, 4));
        assert_eq!(part("a: &n !!str ü ${b}", 3, 4), (1, 15, 4));
        assert_eq!(part("a: 'it''s ${b}'", 5, 4), (1, 11, 4));
        assert_eq!(part("a: \"\\u00fc\\n${b}\"", 3, 4), (1, 13, 4));
        assert_eq!(part("a: |\r\n  one\r\n  ${b}\r\n", 4, 4), (3, 3, 4));
        assert_eq!(part("a: >-\n  one\n\n  two ${b}\n", 9, 4), (4, 7, 4));
        assert_eq!(part("a: one\n\n  ${b}\n", 4, 4), (3, 3, 4));
        assert_eq!(part("a: \"one\\\n  ${b}\"\n", 3, 4), (2, 3, 4));
    }

    #[test]
    fn an_unknown_part_is_the_whole_scalar() {
        assert_eq!(part("", 3, 4), (1, 4, 0));
        assert_eq!(part("a: x", 30, 4), (1, 4, 0));
        let far = format!("a: \"\\n{}${{b}}\"", "x".repeat(MOST_BYTES));
        assert_eq!(part(&far, 1 + u32::try_from(MOST_BYTES).expect("small"), 4), (1, 4, 0));
    }
}
