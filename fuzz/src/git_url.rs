//! Text as the address of a repository: what git is told and what people see hold no password, the
//! name of the folder is one, and an address that was read once is read the same again.

use reclass::storage::git::remote::{Remote, Transport};

/// The longest name that a folder may have.
const LONGEST_NAME: usize = 255;

/// Reads the text as a `repo`.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // What is wrong is a sentence of our own: it cannot repeat the text.
    let Ok(remote) = Remote::parse(text, Some("/srv/salt")) else { return };
    assert!(!remote.address.starts_with('-'), "an option for git: {remote:?}");
    assert!(remote.folder.len() <= LONGEST_NAME, "{remote:?}");
    assert!(!remote.folder.contains('/'), "{remote:?}");
    assert!(!remote.shown.contains(char::is_control), "{remote:?}");
    if let Transport::Password(credentials) = &remote.transport {
        hidden(&remote, text, &credentials.password);
    }
    if let Some((_, rest)) = text.split_once("://")
        && let Some((login, _)) = rest.split_once('@')
        && let Some((_, password)) = login.split_once(':')
        && !login.contains('/')
        && remote.transport != Transport::Local
    {
        hidden(&remote, text, password);
    }
    if let Ok(again) = Remote::parse(&remote.address, Some("/elsewhere")) {
        assert_eq!(again.address, remote.address, "{remote:?}");
    }
    assert!(remote.is_at(&remote));
}

/// A password is neither shown nor told to git by the address.
fn hidden(remote: &Remote, text: &str, password: &str) {
    // What is short or monotonous, or stands elsewhere too, may be shown by chance.
    let elsewhere = text.replacen(&format!(":{password}@"), "\n", 1);
    let letters: std::collections::BTreeSet<u8> = password.bytes().collect();
    if letters.len() < 6 || password.contains('@') || elsewhere.contains(password) {
        return;
    }
    for told in [&remote.shown, &remote.address] {
        assert!(!told.replace(":***@", "\n").contains(password), "{told}");
    }
}
