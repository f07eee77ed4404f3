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

/// Whether colours are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint(pub bool);

impl Paint {
    /// The text with its colours.
    pub fn of(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Heading => "1",
            Style::Value => "36",
            Style::Reference => "35",
            Style::Place => "34",
            Style::Faint => "2",
            Style::Error => "31",
            Style::Added => "32",
        };
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
