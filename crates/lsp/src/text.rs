//! Offsets in a text, positions of the protocol, and addresses of files.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use lsp_types::{Location, Position, Range, Uri};
use reclass::files::percent_encoded;
use reclass::source::Site;

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
        let mut begin = 0;
        for _ in 0..position.line {
            match text[begin..].find('\n') {
                Some(length) => begin += length + 1,
                None => return text.len(),
            }
        }
        let line = text[begin..].split('\n').next().unwrap_or_default();
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
        let before = text.get(..offset).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let column: usize = before[begin..].chars().map(|c| self.width(c)).sum();
        Position::new(number(before.matches('\n').count()), number(column))
    }

    /// The range of two offsets.
    pub fn range(self, text: &str, range: &std::ops::Range<usize>) -> Range {
        Range::new(self.position(text, range.start), self.position(text, range.end))
    }

    /// The range of a place. Without a known length it ends with the word at the place.
    pub fn site(self, text: &str, site: &Site) -> Range {
        let (Some(line), Some(column)) = (site.line.checked_sub(1), site.column.checked_sub(1)) else {
            return Range::default();
        };
        let written = text.split('\n').nth(line as usize).unwrap_or_default().trim_end_matches('\r');
        let rest = || written.chars().skip(column as usize);
        let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':');
        let length = match site.length as usize {
            0 => rest().take_while(|c| !is_end(*c)).count(),
            length => length,
        };
        let width = |count: usize| -> usize { written.chars().take(count).map(|c| self.width(c)).sum() };
        let (start, end) = (width(column as usize), width(column as usize + length));
        Range::new(Position::new(line, number(start)), Position::new(line, number(end)))
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

/// The address of a file.
pub fn uri_of(path: impl AsRef<Path>) -> Option<Uri> {
    Uri::from_str(&format!("file://{}", percent_encoded(path.as_ref().to_str()?))).ok()
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
            assert_eq!(encoding.offset(text, Position::new(0, 99)), 10);
            assert_eq!(encoding.offset(text, Position::new(9, 0)), text.len());
        }
    }

    #[test]
    fn addresses_keep_every_path() {
        for path in ["/srv/salt/a.yml", "/srv/ä b/100%/#x?.yml"] {
            let uri = uri_of(path).expect("an address");
            assert_eq!(path_of(&uri), Some(PathBuf::from(path)), "{}", uri.as_str());
        }
    }
}
