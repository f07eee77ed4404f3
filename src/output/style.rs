//! Maps the meaning of a text to terminal colours.

/// The meaning of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Plain text.
    Plain,
    /// A heading.
    Heading,
    /// A value.
    Value,
    /// A reference as written.
    Reference,
    /// A place in a file.
    Place,
    /// A less important text.
    Faint,
    /// An error, or a removed value.
    Error,
    /// An added value.
    Added,
}

/// How a text is painted.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// Whether colours are on.
    pub colours: bool,
    /// Changes the places in files, for example to links.
    pub place: Option<fn(&str) -> String>,
}

impl Paint {
    /// Text as it is, for pipes.
    pub const PLAIN: Paint = Paint { colours: false, place: None };

    /// The text with its colours.
    pub fn of(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Heading => "1",
            Style::Value => "36",
            Style::Reference => "35",
            // The dark blue is hard to read on black.
            Style::Place => "94",
            Style::Faint => "2",
            Style::Error => "31",
            Style::Added => "32",
        };
        let text = match self.place {
            Some(place) if style == Style::Place => place(text),
            _ => text.to_owned(),
        };
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text }
    }
}
