//! Styles turn the meaning of a piece of text into colours, where a terminal has them.

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Nothing special.
    Plain,
    /// What stands above others.
    Heading,
    /// A value.
    Value,
    /// A reference as written.
    Reference,
    /// A place in a file.
    Place,
    /// What matters less.
    Faint,
    /// What went wrong, or is gone.
    Error,
    /// What is new.
    Added,
}

/// Whether there are colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint(pub bool);

impl Paint {
    /// The text in its colours.
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
