//! Fits text to the terminal that shows it: colours, places as people type them, links, lines of its width.
//!
//! A pipe gets the text unchanged.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::OnceLock;

use reclass::error::Fault;
use reclass::parts::storage::fs::percent_encoded;
use reclass::source::Site;
use supports_hyperlinks::Stream;
use terminal_size::Width;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::folder;
use crate::process::current_folder;
use crate::process::environment;

/// When colours are used.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum ColourChoice {
    /// On a terminal, as the environment says.
    #[default]
    Auto,
    Always,
    Never,
}

/// The words of `--color`.
pub const COLOURS: [&str; 3] = ["auto", "always", "never"];

static COLOUR: OnceLock<ColourChoice> = OnceLock::new();
/// The base folder as it was given on the command line.
static BASE: OnceLock<String> = OnceLock::new();

/// Takes the choice of colours from the command line. It is read before all other options, because usage
/// errors have colours too; whether the word is right is checked with them.
pub fn choose_colours(arguments: &[OsString]) {
    let words: Vec<Cow<'_, str>> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let mut given = words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--color")? {
        "" => words.get(at + 1).map(AsRef::as_ref),
        rest => rest.strip_prefix('='),
    });
    let choice = match given.next_back() {
        Some("always") => ColourChoice::Always,
        Some("never") => ColourChoice::Never,
        _ => ColourChoice::Auto,
    };
    // The process has one command line.
    let _ = COLOUR.set(choice);
}

/// The choice for the messages of clap.
pub fn clap_colours() -> clap::ColorChoice {
    match COLOUR.get() {
        Some(ColourChoice::Never) => clap::ColorChoice::Never,
        // Where colours do not depend on the terminal.
        _ if coloured(false) => clap::ColorChoice::Always,
        _ => clap::ColorChoice::Auto,
    }
}

/// Whether a stream has colours.
pub fn coloured(terminal: bool) -> bool {
    match COLOUR.get().copied().unwrap_or_default() {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        ColourChoice::Auto if environment("NO_COLOR").is_some() => false,
        ColourChoice::Auto => {
            environment("FORCE_COLOR").is_some_and(|value| value != "0")
                || terminal && environment("TERM").is_none_or(|terminal| terminal != "dumb")
        }
    }
}

/// Records the base folder of the command line. Places in it are shown below it as it is written.
pub fn set_base(base: &str) {
    let _ = BASE.set(base.to_owned());
}

/// A path as people type it here: below the current folder, or below the base folder of the command line.
pub fn shown_path(path: &str) -> String {
    let given = Path::new(path);
    let (true, Some(current)) = (given.is_absolute(), current_folder()) else { return path.to_owned() };
    if let Ok(below) = given.strip_prefix(&current) {
        return below.display().to_string();
    }
    let base = BASE.get().map(Path::new).filter(|base| base.is_relative());
    let below = base.and_then(|base| given.strip_prefix(folder::lexical(&current.join(base))).ok());
    match (base, below) {
        (Some(base), Some(below)) => base.join(below).display().to_string(),
        _ => path.to_owned(),
    }
}

/// A place in an answer for a terminal: `path:3:5` or a path, as a link where the terminal has links.
pub fn place(text: &str) -> String {
    let shown = shown_path(text);
    if supports_hyperlinks::on(Stream::Stdout) { linked(&shown) } else { shown }
}

/// The fault with places as people type them. Paths in messages stay whole.
pub fn with_shown_places(mut fault: Fault) -> Fault {
    let show = |site: &mut Option<Site>| {
        if let Some(site) = site {
            site.path = shown_path(&site.path).into();
        }
    };
    show(&mut fault.site);
    fault.notes.iter_mut().for_each(|note| show(&mut note.site));
    fault.chain.iter_mut().for_each(|link| show(&mut link.site));
    fault.causes = std::mem::take(&mut fault.causes).into_iter().map(with_shown_places).collect();
    fault
}

/// A place with the link of its file (OSC 8).
fn linked(place: &str) -> String {
    // `path:3:5` or `path`.
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut path = place;
    for _ in 0..2 {
        if let Some((before, number)) = path.rsplit_once(':')
            && is_number(number)
        {
            path = before;
        }
    }
    let whole = current_folder().unwrap_or_default().join(path);
    if !whole.is_file() {
        return place.to_owned();
    }
    let address = percent_encoded(&folder::lexical(&whole).display().to_string());
    format!("\u{1b}]8;;file://{address}\u{1b}\\{place}\u{1b}]8;;\u{1b}\\")
}

/// The number of columns of standard output; `None` if it is no terminal.
fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(io::stdout());
    // Narrower ones would show a word per line. A terminal without a size reports none.
    size.map(|(Width(width), _)| usize::from(width)).filter(|width| *width >= 20)
}

/// Whether people read the answer.
pub fn is_answer_shown() -> bool {
    io::stdout().is_terminal()
}

/// An answer of lines, wrapped.
pub fn wrapped_answer(text: String) -> String {
    match width() {
        Some(width) => wrapped(&text, width),
        None => text,
    }
}

fn wrapped(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        if display_width(line) <= width {
            return line.to_owned();
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        wrapped_line(line, &" ".repeat((indent + 4).min(width / 2)), width)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line as several ones, whose first stays where it is. A longer word stays whole, so that it can be copied.
fn wrapped_line(line: &str, indent: &str, width: usize) -> String {
    let options = Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(line, options).join("\n")
}

/// A message with an excerpt for standard error.
pub fn message(text: &str) -> String {
    excerpt(text, Stream::Stderr)
}

/// The same for standard output.
pub fn message_in_answer(text: &str) -> String {
    excerpt(text, Stream::Stdout)
}

/// Links places. The terminal wraps the lines.
fn excerpt(text: &str, stream: Stream) -> String {
    if !supports_hyperlinks::on(stream) {
        return text.to_owned();
    }
    let lines = text.split('\n').map(|line| {
        let plain = without_colours(line);
        let content = plain.trim_start();
        let place = content.strip_prefix("╭▸ ").or_else(|| content.strip_prefix("─▸ "));
        place.map_or_else(|| line.to_owned(), |place| line.replace(place, &linked(place)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text without the escape sequences of colours.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// Maximum width of a column: a long name must not push the other cells out of sight.
const WIDEST: usize = 60;

/// The mark between the cells of a row.
pub const CELL: char = '\u{1f}';

/// Rows of cells: in columns on a terminal, with two spaces between the cells elsewhere. Lines that begin with
/// a space are details of the row above.
pub fn columns(rows: &[String]) -> String {
    let text = rows.join("\n");
    if !is_answer_shown() {
        return text.replace(CELL, "  ");
    }
    let cells = |line: &str| line.split(CELL).map(str::to_owned).collect::<Vec<String>>();
    let lines: Vec<Vec<String>> = text.split('\n').map(cells).collect();
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|at| {
            let widths = lines.iter().filter(|line| line.len() > at + 1).map(|line| display_width(&line[at]));
            widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: &Vec<String>| {
        let mut out = String::new();
        for (at, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            if at + 1 < cells.len() {
                out.push_str(&" ".repeat(widths[at].saturating_sub(display_width(cell)) + 2));
            }
        }
        out
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{linked, without_colours, wrapped};

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrapped("  a bb ccc dddd eeeee", 12), "  a bb ccc\n      dddd\n      eeeee");
        assert_eq!(wrapped("x aaaaaaaaaaaaaaaaaaaaaaaa y", 10), "x\n    aaaaaaaaaaaaaaaaaaaaaaaa\n    y");
        assert_eq!(wrapped("\u{1b}[36mabc\u{1b}[0m def", 7), "\u{1b}[36mabc\u{1b}[0m def");
    }

    #[test]
    fn links_lead_to_files_that_exist() {
        assert_eq!(linked("gone.yml:3:4"), "gone.yml:3:4");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let place = format!("{manifest}:3:1");
        assert_eq!(linked(&place), format!("\u{1b}]8;;file://{manifest}\u{1b}\\{place}\u{1b}]8;;\u{1b}\\"));
    }

    #[test]
    fn colours_have_no_width() {
        assert_eq!(without_colours("\u{1b}[1m\u{1b}[91merror\u{1b}[0m: x"), "error: x");
    }
}
