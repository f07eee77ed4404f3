//! Tells an address from a path, so that no message shows the password in it.

use reclass_base::error::{Fault, Kind, Result};

/// The path in a setting that names a folder: `yaml_fs://` may be before it.
pub fn without_scheme(text: &str) -> &str {
    text.strip_prefix("yaml_fs://").unwrap_or(text)
}

/// Whether a text is meant as an address with a scheme. Such an address may contain a password.
pub fn is_address(text: &str) -> bool {
    let is_mistyped = |scheme: &&str| {
        let behind = text.strip_prefix(*scheme);
        behind.is_some_and(|behind| behind.starts_with(":/") || behind.starts_with("//"))
    };
    text.contains("://") || text.contains('@') && ["http", "https", "ssh", "git"].iter().any(is_mistyped)
}

/// Refuses an address in a setting, without showing it. `must` completes the sentence `it must be`.
pub fn refuse_address(setting: &str, text: &str, must: &str) -> Result<()> {
    if !is_address(text) {
        return Ok(());
    }
    let (setting, message) = (setting.to_owned(), format!("it is an address, and must be {must}"));
    Err(Fault::new(Kind::StorageOption { setting, message }).into())
}
