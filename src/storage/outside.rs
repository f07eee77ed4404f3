//! Writes files outside of inventories: what a program was asked for, and snapshots beside tests.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::beneath;
use super::fs::display;

/// Replaces the file `name` below the folder `top` in one step: a new file of a name that nobody can guess is renamed
/// over the old one. Missing folders in `name` are made.
///
/// `top` was named by the user and may be a link. Below it no link is followed: a link in the place of the file is
/// replaced.
///
/// # Errors
///
/// Those of the system, and a link in the place of a folder.
pub fn replace_below(top: &Path, name: &Path, bytes: &[u8]) -> io::Result<()> {
    let top = if top.as_os_str().is_empty() { Path::new(".") } else { top };
    let mut folder = File::open(top)?;
    let mut parts = name.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(part) = part else { return Err(Errno::INVAL.into()) };
        if parts.peek().is_some() {
            folder = inner(&folder, part)?;
            continue;
        }
        let new = format!(".reclass-{:016x}", RandomState::new().hash_one(0));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The umask reduces these permissions.
        let mut file = File::from(openat(&folder, &new, flags, Mode::from_raw_mode(0o666))?);
        let written = file.write_all(bytes).and_then(|()| Ok(renameat(&folder, &new, &folder, part)?));
        if written.is_err() {
            let _ = unlinkat(&folder, &new, AtFlags::empty());
        }
        return written;
    }
    Err(Errno::INVAL.into())
}

/// Opens a folder in a folder, and makes a missing one.
fn inner(folder: &File, name: &std::ffi::OsStr) -> io::Result<File> {
    match beneath::folder_in(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            mkdirat(folder, name, Mode::from_raw_mode(0o777))?;
            beneath::folder_in(folder, name)
        }
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::LOOP | Errno::NOTDIR)) => {
            Err(io::Error::other(format!("'{}' is no folder, or a symbolic link", display(name.as_ref()))))
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_below_the_folder_are_not_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let (top, victim) = (place.path().join("top"), place.path().join("victim"));
        fs::create_dir_all(victim.join("inner")).expect("a folder");
        fs::create_dir(&top).expect("a folder");
        fs::write(victim.join("file"), "own").expect("a file");
        symlink(&victim, top.join("link")).expect("a link");
        symlink(victim.join("file"), top.join("file")).expect("a link");

        for name in ["link/file", "link/inner/new", "link/new/new"] {
            let error = replace_below(&top, name.as_ref(), b"new").expect_err("it is refused");
            assert_eq!(error.to_string(), "'link' is no folder, or a symbolic link");
        }
        replace_below(&top, "file".as_ref(), b"new").expect("the link is replaced");
        replace_below(&top, "a/b/c".as_ref(), b"new").expect("folders are made");
        for name in ["", "..", "../file", "/file", "a/../../file"] {
            assert!(replace_below(&top, name.as_ref(), b"new").is_err(), "{name}");
        }

        assert_eq!(fs::read(victim.join("file")).expect("it is there"), b"own");
        assert_eq!(fs::read(top.join("file")).expect("it is there"), b"new");
        assert_eq!(fs::read(top.join("a/b/c")).expect("it is there"), b"new");
        assert_eq!(fs::read_dir(&victim).expect("a folder").count(), 2);
        assert_eq!(fs::read_dir(&top).expect("a folder").count(), 3, "no new file is left");
    }

    #[test]
    fn a_folder_that_was_named_may_be_a_link() {
        let place = tempfile::tempdir().expect("a folder");
        let (real, top) = (place.path().join("real"), place.path().join("top"));
        fs::create_dir(&real).expect("a folder");
        symlink(&real, &top).expect("a link");
        replace_below(&top, "file".as_ref(), b"new").expect("it is written");
        assert_eq!(fs::read(real.join("file")).expect("it is there"), b"new");
    }
}
