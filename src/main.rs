//! The program `reclass`.

fn main() {}
