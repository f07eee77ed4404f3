//! Tells an address from a path, so that no message shows the password in it.

/// Whether a text is meant as an address with a scheme. It may contain a password.
pub fn is_address(text: &str) -> bool {
    let is_mistyped = |scheme: &&str| {
        let behind = text.strip_prefix(*scheme);
        behind.is_some_and(|behind| behind.starts_with(":/") || behind.starts_with("//"))
    };
    text.contains("://") || text.contains('@') && ["http", "https", "ssh", "git"].iter().any(is_mistyped)
}
