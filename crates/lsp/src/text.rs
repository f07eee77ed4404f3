//! Offsets in a text, positions of the protocol, and addresses of files.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use lsp_types::{Location, Position, Range, Uri};
use reclass::parts::storage::fs::percent_encoded;
use reclass::source::Site;
use reclass_yaml::offset_of;

/// What a column of the protocol counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16.
    Utf16,
}

impl Encoding {
    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }

    /// The offset of a position. One behind the end of a line is the end, as editors expect.
    pub fn offset(self, text: &str, position: Position) -> usize {
        let Some(begin) = line_begins(text).nth(position.line as usize) else { return text.len() };
        let line = text[begin..].split(LINE_ENDS).next().unwrap_or_default();
        let mut column = 0;
        for (at, c) in line.char_indices() {
            if column >= position.character as usize {
                return begin + at;
            }
            column += self.width(c);
        }
        begin + line.len()
    }

    /// The position of an offset.
    pub fn position(self, text: &str, offset: usize) -> Position {
        Lines::new(text, self).position(offset)
    }

    /// The range of two offsets.
    pub fn range(self, text: &str, range: &std::ops::Range<usize>) -> Range {
        Lines::new(text, self).range(range)
    }

    /// The range of a place. Without a known length it ends with the word at the place.
    pub fn site(self, text: &str, site: &Site) -> Range {
        let Some(start) = offset_of(text, site.line, site.column) else {
            // An unexpected end of the text may be said to be in the line behind it.
            let end = Position::new(site.line.saturating_sub(1), 0);
            return Range::new(end, end);
        };
        let written = text[start..].split(LINE_ENDS).next().unwrap_or_default();
        let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':');
        let length: usize = match site.length as usize {
            0 => written.chars().take_while(|c| !is_end(*c)).map(char::len_utf8).sum(),
            length => written.chars().take(length).map(char::len_utf8).sum(),
        };
        self.range(text, &(start..start + length))
    }
}

/// The ends of lines of the protocol, which are fewer than those of YAML.
const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// The offsets at which the lines of a text begin. A carriage return before a line feed ends no line of its own.
fn line_begins(text: &str) -> impl Iterator<Item = usize> {
    let ends = text.match_indices(LINE_ENDS);
    let ends = ends.filter(|(at, end)| *end == "\n" || text.as_bytes().get(at + 1) != Some(&b'\n'));
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1))
}

/// The lines of a text, for many positions in it.
pub struct Lines<'t> {
    text: &'t str,
    encoding: Encoding,
    /// The offset at which each line begins.
    begins: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// The lines of a text.
    pub fn new(text: &'t str, encoding: Encoding) -> Lines<'t> {
        Lines { text, encoding, begins: line_begins(text).collect() }
    }

    /// The position of an offset.
    pub fn position(&self, offset: usize) -> Position {
        // An offset that the text does not have is its end.
        let offset = if self.text.is_char_boundary(offset) { offset } else { self.text.len() };
        let line = self.begins.partition_point(|begin| *begin <= offset).saturating_sub(1);
        let inner = self.begins.get(line).map_or("", |begin| &self.text[*begin..offset]);
        let column: usize = inner.chars().map(|c| self.encoding.width(c)).sum();
        Position::new(number(line), number(column))
    }

    /// The range of two offsets.
    pub fn range(&self, range: &std::ops::Range<usize>) -> Range {
        Range::new(self.position(range.start), self.position(range.end))
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The path of an address; `None` if it is no file.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let is_file = uri.as_str().starts_with("file://");
    let path = is_file.then(|| uri.path().as_estr().decode().into_string().ok()).flatten()?;
    Some(PathBuf::from(&*path))
}

/// The address of a file; `None` for what is no file: a key of etcd, a file in a repository.
pub fn uri_of(path: impl AsRef<Path>) -> Option<Uri> {
    let path = Some(path.as_ref()).filter(|path| path.is_absolute())?;
    Uri::from_str(&format!("file://{}", percent_encoded(path.to_str()?))).ok()
}

/// The place in the file as the protocol has it.
pub fn location(site: &Site, text: Option<&str>, encoding: Encoding) -> Option<Location> {
    Some(Location::new(uri_of(&*site.path)?, encoding.site(text.unwrap_or_default(), site)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_as_the_client_does() {
        let text = "a: é😀x\nb: 1\n";
        for (encoding, column) in [(Encoding::Utf8, 9), (Encoding::Utf16, 6)] {
            let position = Position::new(0, column);
            let offset = encoding.offset(text, position);
            assert_eq!(&text[offset..=offset], "x");
            assert_eq!(encoding.position(text, offset), position);
            for offset in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                assert_eq!(Lines::new(text, encoding).position(offset), encoding.position(text, offset));
                assert_eq!(encoding.offset(text, encoding.position(text, offset)), offset);
            }
            assert_eq!(encoding.offset(text, Position::new(0, 99)), 10);
            assert_eq!(encoding.offset(text, Position::new(9, 0)), text.len());
        }
    }

    #[test]
    fn lines_end_where_the_protocol_says() {
        let text = "a: '\u{2028}b'\r\nc: 1\rd: 2\ne: 3";
        for (written, line, column) in [("b", 0, 5), ("c", 1, 0), ("d", 2, 0), ("3", 3, 3)] {
            let offset = text.find(written).expect("it is there");
            assert_eq!(Encoding::Utf16.position(text, offset), Position::new(line, column));
            assert_eq!(Encoding::Utf16.offset(text, Position::new(line, column)), offset);
        }
        assert_eq!(
            Encoding::Utf16.offset(text, Position::new(0, 99)),
            text.find("\r\n").expect("it is there")
        );
        // YAML counts a line more: `d` is in its fourth.
        let site = Site { path: "x".into(), line: 4, column: 1, length: 0 };
        let expected = Range::new(Position::new(2, 0), Position::new(2, 1));
        assert_eq!(Encoding::Utf16.site(text, &site), expected);
    }

    #[test]
    fn addresses_keep_every_path() {
        for path in ["/srv/salt/a.yml", "/srv/ä b/100%/#x?.yml"] {
            let uri = uri_of(path).expect("an address");
            assert_eq!(path_of(&uri), Some(PathBuf::from(path)), "{}", uri.as_str());
        }
    }
}
