//! Explains an error of the system: which user lacks which right on which path, and where a link leads.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use super::fs::{display, reason};

/// The system's list of users.
const USERS: &str = "/etc/passwd";

/// The reason of an error. For a permission error, it names the user and the missing right, for a broken link
/// its target. `wanted` is the
/// access that was needed on the path.
pub(super) fn reason_at(path: &Path, wanted: Access, error: &io::Error) -> String {
    let message = reason(error);
    if error.kind() == io::ErrorKind::NotFound
        && let Ok(target) = path.read_link()
    {
        return format!("it is a link to '{}', which does not exist", display(&target));
    }
    if Errno::from_io_error(error) != Some(Errno::ACCESS) {
        return message;
    }
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    let searched = folders.into_iter().map(|folder| (folder, Access::EXEC_OK, "search"));
    let right = if wanted.contains(Access::WRITE_OK) { "write" } else { "read" };
    let lacks = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS) == Err(Errno::ACCESS);
    match searched.chain([(path, wanted, right)]).find(|(path, access, _)| lacks(path, *access)) {
        Some((lacking, access, right)) => {
            let user = user(rustix::process::geteuid().as_raw());
            // An error of reading names the path itself.
            let is_named = lacking == path && access == Access::READ_OK;
            let what = if is_named { "it".to_owned() } else { format!("'{}'", display(lacking)) };
            format!("{message}: user {user} has no right to {right} {what}{}", owner(lacking))
        }
        None => message,
    }
}

/// The reason why a file or folder cannot be written. It may still be missing.
pub fn reason_unwritable(path: &Path, error: &io::Error) -> String {
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok());
    reason_at(existing.unwrap_or(path), Access::WRITE_OK, error)
}

/// The mode and owner of a path.
fn owner(path: &Path) -> String {
    rustix::fs::stat(path).map_or_else(
        |_| String::new(),
        |stat| format!(" (mode {:04o} of user {})", stat.st_mode & 0o7777, user(stat.st_uid)),
    )
}

/// A user for messages: the name if the system lists it, otherwise the number.
pub(super) fn user(id: u32) -> String {
    let users = std::fs::read_to_string(USERS).unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then_some(name)
    });
    name.map_or_else(|| id.to_string(), |name| format!("'{name}'"))
}
