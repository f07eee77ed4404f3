//! Text as the address of a repository: neither the address for git nor the one that people see holds a
//! password, the name of the folder is a valid one, and an address that was read once is read the same again.
//! An error shows the address as the inventory has it, without a password.

use std::cell::RefCell;

use reclass::internals::storage::git::remote::{Remote, Transport};
use reclass::parts::storage::TreeLocations;
use reclass::settings::Settings;
use reclass::value::{Map, Value};

use super::shown;

/// The longest name that a folder may have.
const LONGEST_NAME: usize = 255;

/// Reads the text as a `repo`.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(remote) = Remote::parse(text, Some("/srv/salt")) else { return refused(text) };
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
    match Remote::parse(&remote.address, Some("/elsewhere")) {
        Ok(again) => assert_eq!(again.address, remote.address, "{remote:?}"),
        Err(_) => refused(&remote.address),
    }
    assert!(remote.is_at(&remote));
}

thread_local! {
    /// Those of an inventory in a repository.
    static SETTINGS: RefCell<Settings> = RefCell::new(in_a_repository());
}

fn in_a_repository() -> Settings {
    let options = [("storage_type", "yaml_git"), ("inventory_base_uri", "/srv/salt")];
    let options = options.map(|(name, value)| (name.into(), Value::text(value)));
    Settings::from_options(&Map::from_iter(options)).expect("settings").0
}

/// The error of an inventory in such a repository.
fn refused(text: &str) {
    let uri = Value::map(Map::from_iter([("repo".into(), Value::text(text))]));
    let error = SETTINGS.with_borrow_mut(|settings| {
        settings.nodes_uri = uri;
        TreeLocations::of(settings, None).expect_err("no address of a repository")
    });
    shown::error(&error, &|_| None);
    // A sentence of our own: it does not repeat the text.
    let said = reclass::error::concise(&error);
    assert!(!is_peculiar(text) || !said.contains(text), "{said}");
}

/// Whether a text cannot be somewhere else by chance.
fn is_peculiar(text: &str) -> bool {
    text.bytes().collect::<std::collections::BTreeSet<u8>>().len() >= 6
}

/// A password is neither shown nor in the address that git gets.
fn hidden(remote: &Remote, text: &str, password: &str) {
    // A password that is short or monotonous, or is elsewhere too, may be shown by chance.
    let elsewhere = text.replacen(&format!(":{password}@"), "\n", 1);
    if !is_peculiar(password) || password.contains('@') || elsewhere.contains(password) {
        return;
    }
    for address in [&remote.shown, &remote.address] {
        assert!(!address.replace(":***@", "\n").contains(password), "{address}");
    }
}
