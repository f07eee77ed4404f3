//! Long text in pieces, so that no process holds all of it.

use std::ops::{Deref, DerefMut};

/// The length of a piece in bytes, about.
const PIECE: usize = 1 << 16;

/// Text that is passed on piece by piece.
pub struct Pieces<'s> {
    text: String,
    sink: &'s mut dyn FnMut(&str),
}

impl Pieces<'_> {
    /// No text yet; `sink` gets the pieces.
    pub fn new(sink: &mut dyn FnMut(&str)) -> Pieces<'_> {
        Pieces { text: String::new(), sink }
    }

    /// Appends spaces.
    pub fn push_spaces(&mut self, mut count: usize) {
        const SPACES: &str = "                                                                ";
        while count > 0 {
            let some = count.min(SPACES.len());
            self.text.push_str(&SPACES[..some]);
            count -= some;
        }
    }

    /// Passes the text on.
    pub fn pass_on(&mut self) {
        (self.sink)(&self.text);
        self.text.clear();
    }

    /// Passes the text on if it is long enough.
    pub fn pass_on_if_full(&mut self) {
        if self.text.len() >= PIECE {
            self.pass_on();
        }
    }
}

impl Deref for Pieces<'_> {
    type Target = String;
    fn deref(&self) -> &String {
        &self.text
    }
}

impl DerefMut for Pieces<'_> {
    fn deref_mut(&mut self) -> &mut String {
        &mut self.text
    }
}
