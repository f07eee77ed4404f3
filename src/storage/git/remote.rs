//! Parses the `repo` of an inventory: the address for git, the name of the cache folder, and a form without
//! password for people.
//!
//! The password is kept apart from the address, so no command line, file or message of git can contain it.

use std::path::Path;

use crate::storage::address::is_address;
use crate::storage::fs::{absolute, percent_decoded, real};
use crate::storage::record::file_name;

/// The address of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// The address as written, with `***` for a password.
    pub shown: String,
    /// The address for git, without a password.
    pub address: String,
    /// The means of access.
    pub transport: Transport,
    /// The name of its folder in the cache.
    pub folder: String,
    /// Whether what `HEAD` names is fetched too, as a branch of this name.
    pub head: bool,
}

/// The means of access to a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A folder.
    Local,
    /// The program `ssh`.
    Ssh,
    /// A network without a login.
    Plain,
    /// `http` or `https` with a user and a password.
    Password(Password),
}

/// A password from an address.
#[derive(Clone, PartialEq, Eq)]
pub struct Password {
    /// Its server, for example `https://git.example.com:8443`.
    pub server: String,
    /// The name of the user.
    pub user: String,
    /// The password, which no message shows.
    pub password: String,
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Password").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The default user of an ssh address, as in kapicorp-reclass.
const SSH_USER: &str = "gitlab";

impl Remote {
    /// Parses a `repo`. A relative path is relative to `base`. The error does not repeat the address, because
    /// it may contain a password.
    pub fn parse(text: &str, base: Option<&str>) -> Result<Remote, &'static str> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err("it is empty or has a control character");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            if is_address(text) {
                return Err("the scheme of an address ends with '://'");
            }
            return if is_scp(text) { ssh(text, text) } else { local(text, Path::new(text), base) };
        };
        let scheme = scheme.to_ascii_lowercase();
        match scheme.trim_start_matches("git+").trim_end_matches("+git") {
            "ssh" => ssh(text, rest),
            "file" => local(text, Path::new(rest), base),
            "git" if rest.contains('@') => Err("an address of git has no user, no password and no '@'"),
            "git" => Ok(Remote::new(text, format!("git://{rest}"), Transport::Plain)),
            scheme @ ("http" | "https") => web(scheme, rest),
            _ => Err("it must be a path, or an address of file, https, http, ssh or git"),
        }
    }

    /// Whether two addresses lead to one repository, as far as the addresses show. Users and spellings of a
    /// path are ignored.
    pub fn is_at(&self, other: &Remote) -> bool {
        self.place() == other.place()
    }

    /// Host and path in a form that does not depend on the user and the spelling.
    fn place(&self) -> String {
        let place = if self.transport == Transport::Local {
            let path = real(Path::new(&self.address));
            path.map_or_else(|| self.address.clone(), |path| path.to_string_lossy().into_owned())
        } else {
            let (scheme, rest) = self.address.split_once("://").unwrap_or(("", &self.address));
            let (authority, path) = match (scheme, rest.split_once('/')) {
                // `user@host:path`
                ("", _) => rest.split_once(':').unwrap_or((rest, "")),
                (_, parts) => parts.unwrap_or((rest, "")),
            };
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let host = host.strip_suffix(":22").filter(|_| self.transport == Transport::Ssh).unwrap_or(host);
            format!("{}/{}", host.to_ascii_lowercase(), path.trim_start_matches('/'))
        };
        let place = place.trim_end_matches('/');
        let place = place.strip_suffix("/.git").unwrap_or(place);
        place.strip_suffix(".git").unwrap_or(place).to_owned()
    }

    fn new(shown: &str, address: String, transport: Transport) -> Remote {
        let folder = file_name(&address) + ".git";
        Remote { shown: shown.to_owned(), address, transport, folder, head: false }
    }

    /// The same repository with its `HEAD`. It has a cache of its own: each fetch removes the branches that it does
    /// not ask for.
    #[must_use]
    pub fn with_head(self) -> Remote {
        Remote { folder: file_name(&self.address) + ".HEAD.git", head: true, ..self }
    }
}

/// `user@host:path`: a colon before the first slash.
fn is_scp(text: &str) -> bool {
    let colon = text.find(':');
    colon.is_some_and(|colon| text.find('/').is_none_or(|slash| colon < slash))
}

fn local(shown: &str, path: &Path, base: Option<&str>) -> Result<Remote, &'static str> {
    let path = absolute(base, path).ok_or("the current folder is gone")?;
    let address = path.to_str().ok_or("it is not UTF-8")?.to_owned();
    Ok(Remote::new(shown, address, Transport::Local))
}

/// `user@host:path` or `user@host:port/path`, with or without `ssh://`. A number between colon and
/// slash is a port.
fn ssh(text: &str, rest: &str) -> Result<Remote, &'static str> {
    let (login, place) = match rest.split_once('/').map_or(rest, |(before, _)| before).rsplit_once('@') {
        Some((login, _)) => (login, &rest[login.len() + 1..]),
        None => (SSH_USER, rest),
    };
    let (user, password) = login.split_once(':').map_or((login, None), |(user, rest)| (user, Some(rest)));
    if user.is_empty() || user.starts_with('-') || place.starts_with('-') {
        return Err("neither user nor host begin with '-'");
    }
    let authority = place.split_once('/').map_or(place, |(before, _)| before);
    // An IPv6 address contains colons.
    let after_host = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
    let is_url = match after_host.split_once(':') {
        Some((_, port)) => !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()),
        None => true,
    };
    let address = if is_url { format!("ssh://{user}@{place}") } else { format!("{user}@{place}") };
    let shown = match password {
        Some(password) => text.replacen(&format!(":{password}@"), ":***@", 1),
        None => text.to_owned(),
    };
    Ok(Remote::new(&shown, address, Transport::Ssh))
}

fn web(scheme: &str, rest: &str) -> Result<Remote, &'static str> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let path = &rest[authority.len()..];
    if may_hold_a_password(authority, path) {
        return Err(
            "in a password, '/', '?', '#' and '@' are written '%2F', '%3F', '%23' and '%40'; '@' in a path too",
        );
    }
    let Some((login, host)) = authority.rsplit_once('@') else {
        let address = format!("{scheme}://{rest}");
        return Ok(Remote::new(&address, address.clone(), Transport::Plain));
    };
    let Some((user, password)) = login.split_once(':') else {
        // A user alone may be a token.
        let shown = format!("{scheme}://***@{host}{path}");
        return Ok(Remote::new(&shown, format!("{scheme}://{rest}"), Transport::Plain));
    };
    let wrong = "its user or password is not percent-encoded text of one line";
    let credentials = Password {
        server: format!("{scheme}://{host}"),
        user: decoded(user).ok_or(wrong)?,
        password: decoded(password).ok_or(wrong)?,
    };
    let address = format!("{scheme}://{user}@{host}{path}");
    let shown = format!("{scheme}://{user}:***@{host}{path}");
    Ok(Remote::new(&shown, address, Transport::Password(credentials)))
}

/// Whether the apparent path may be the rest of a password that is not percent-encoded: it contains an `@`,
/// and a colon comes before it. A number may be a port, or the beginning of a password.
fn may_hold_a_password(authority: &str, path: &str) -> bool {
    let Some((before, _)) = path.split_once('@') else { return false };
    let address = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let outside = address.map_or(authority, |(_, port)| port);
    outside.contains(':') || before.contains([':', '?', '#'])
}

/// Percent-encoded text of one line.
fn decoded(text: &str) -> Option<String> {
    percent_decoded(text).filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> String {
        Remote::parse(text, Some("/base")).expect("an address").address
    }

    #[test]
    fn one_repository_has_many_addresses() {
        let same = |one: &str, other: &str| {
            let parse = |text: &str| Remote::parse(text, Some("/base")).expect("an address");
            parse(one).is_at(&parse(other))
        };
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("one");
        std::fs::create_dir_all(path.join(".git")).expect("folders");
        let path = path.to_str().expect("UTF-8");
        assert!(same(path, &format!("file://{path}")));
        assert!(same(path, &format!("{path}/")));
        assert!(same(path, &format!("{path}/.git")));
        assert!(same(path, &format!("{path}/../one")));
        assert!(!same(path, home.path().to_str().expect("UTF-8")));
        assert!(same("git@Host:x/y.git", "ssh://other@host/x/y"));
        assert!(same("ssh://host:22/x", "host:x.git"));
        assert!(!same("ssh://host:23/x", "host:x.git"));
        assert!(same("https://a:b@h/x.git", "https://h/x"));
        assert!(!same("https://h/x", "https://h/y"));
    }

    #[test]
    fn addresses_are_what_git_takes() {
        assert_eq!(
            address("git+ssh://gitlab@remote.server:salt/nodes.git"),
            "gitlab@remote.server:salt/nodes.git"
        );
        assert_eq!(address("ssh://git@host/salt/nodes.git"), "ssh://git@host/salt/nodes.git");
        assert_eq!(address("ssh://git@host:2222/nodes.git"), "ssh://git@host:2222/nodes.git");
        assert_eq!(address("ssh://[::1]:22/x"), "ssh://gitlab@[::1]:22/x");
        assert_eq!(address("git@host:x.git"), "git@host:x.git");
        assert_eq!(address("host:x.git"), "gitlab@host:x.git");
        assert_eq!(address("file:///srv/x"), "/srv/x");
        assert_eq!(address("x"), "/base/x");
        assert_eq!(address("../x"), "/x");
        assert_eq!(address("git+https://h/x"), "https://h/x");
        assert!(Remote::parse("ext::sh -c x", None).is_ok_and(|remote| remote.transport == Transport::Ssh));
        assert!(Remote::parse("ssh://-oProxyCommand=x/y", None).is_err());
        assert!(Remote::parse("rsync://h/x", None).is_err());
    }

    #[test]
    fn passwords_are_apart() {
        let remote = Remote::parse("https://ada:p%40ss%2Fword@h:8443/x.git", None).expect("an address");
        assert_eq!(remote.address, "https://ada@h:8443/x.git");
        assert_eq!(remote.shown, "https://ada:***@h:8443/x.git");
        let Transport::Password(password) = &remote.transport else { panic!("{remote:?}") };
        assert_eq!((password.server.as_str(), password.password.as_str()), ("https://h:8443", "p@ss/word"));
        assert!(!format!("{remote:?}").contains("p@ss"));
        for login in [
            "ada:p/w",
            "ada:/pw",
            "ada:#pw",
            "ada:?pw",
            "ada:1#pw",
            "ada:1?pw",
            "a?da:pw",
            "a/da:pw",
            "ada:p@ss/w",
        ] {
            assert!(Remote::parse(&format!("https://{login}@h/x.git"), None).is_err(), "{login}");
        }
        for address in ["https://h:8443/x%40y.git", "https://[::1]/x@y.git", "https://h/x@y.git"] {
            assert!(Remote::parse(address, None).is_ok(), "{address}");
        }
        assert!(Remote::parse("https://ada:a%0Ab@h/x.git", None).is_err());
        assert!(Remote::parse("git://ada:secret@h/x", None).is_err());
        let remote = Remote::parse("https://token@h/x.git", None).expect("an address");
        assert_eq!(remote.shown, "https://***@h/x.git");
        let remote = Remote::parse("ssh://ada:secret@h/x", None).expect("an address");
        assert_eq!((remote.shown.as_str(), remote.address.as_str()), ("ssh://ada:***@h/x", "ssh://ada@h/x"));
    }

    #[test]
    fn folders_differ() {
        let folder = |text| Remote::parse(text, None).expect("an address").folder;
        assert_ne!(folder("/a_b/c"), folder("/a/b_c"));
        assert_eq!(folder("/a/b"), "%2Fa%2Fb.git");
        let long = format!("/{}", "x/".repeat(300));
        assert!(folder(&long).len() < 255);
    }
}
