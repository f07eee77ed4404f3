//! Private files: records, locks, caches and whatever else the project keeps outside of inventories.
//!
//! They decide values, and their content may be secret. So their folder must belong to this user, and nobody
//! else may write in it. The same holds for the files: a file of another user, a file that others may write, a
//! link or a pipe is refused. Opening one never blocks.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, renameat, unlinkat};
use rustix::io::Errno;

use super::access_error::user;
use super::beneath;
use super::fs::{DiskFingerprint, SettledBefore, display, reason};
use crate::storage::os::unix::fs::PermissionsExt as _;

/// An open folder of private files.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    file: File,
}

impl PrivateFolder {
    pub fn open(path: &Path) -> Result<PrivateFolder, String> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).map(File::from);
        let file = file.map_err(|error| message(path, error.into()))?;
        check(&file, path, FileType::Directory)?;
        Ok(PrivateFolder { path: path.to_owned(), file })
    }

    /// Opens a folder. A missing one is created, with its parents, for this user alone. Root creates none inside of
    /// a folder of another user, who could not use it.
    pub fn make(path: &Path) -> Result<PrivateFolder, String> {
        use crate::storage::os::unix::fs::DirBuilderExt as _;
        let own = rustix::process::geteuid();
        let above = path.ancestors().find_map(|above| rustix::fs::stat(above).ok());
        if let Some(theirs) =
            above.map(|above| above.st_uid).filter(|theirs| own.as_raw() == 0 && *theirs != 0)
        {
            let path = display(path);
            return Err(format!(
                "{path}: its folder belongs to another user; run this as user {}",
                user(theirs)
            ));
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|error| message(path, error))?;
        PrivateFolder::open(path)
    }

    /// Opens a file in the folder. Only this user can access a new one.
    pub fn file(&self, name: &OsStr, flags: OFlags) -> Result<File, String> {
        let path = self.path.join(name);
        let file = beneath::file(&self.file, name, flags | OFlags::NONBLOCK);
        let file = file.map_err(|error| message(&path, error))?;
        check(&file, &path, FileType::RegularFile)?;
        Ok(file)
    }

    /// The bytes of a file, and its fingerprint from before the read.
    pub fn read(&self, name: &OsStr) -> Result<(Vec<u8>, DiskFingerprint), String> {
        let mut file = self.file(name, OFlags::RDONLY)?;
        let failed = |error| message(&self.path.join(name), error);
        let fingerprint = DiskFingerprint::of_open(&file, SettledBefore::now());
        let fingerprint = fingerprint.map_err(|error| failed(error.into()))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok((bytes, fingerprint))
    }

    /// Replaces a file in one step. The caller has the lock of the folder.
    pub fn replace(&self, name: &OsStr, bytes: &[u8], mode: u32) -> Result<(), String> {
        let new = [name, OsStr::new(".new")].join(OsStr::new(""));
        // The rest of a writer that was killed.
        let _ = unlinkat(&self.file, &new, AtFlags::empty());
        let mut file = self.file(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        let written = file.write_all(bytes).and_then(|()| {
            file.set_permissions(std::fs::Permissions::from_mode(mode))?;
            file.sync_all()?;
            Ok(renameat(&self.file, &new, &self.file, name)?)
        });
        written.map_err(|error| message(&self.path.join(name), error))
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &OsStr) -> Result<(), String> {
        match unlinkat(&self.file, name, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(message(&self.path.join(name), error.into())),
            _ => Ok(()),
        }
    }
}

/// Fails unless an open file is of this kind, belongs to this user, and nobody else may write it.
fn check(file: &File, path: &Path, kind: FileType) -> Result<(), String> {
    let stat = fstat(file).map_err(|error| message(path, error.into()))?;
    let path = display(path);
    let own = rustix::process::geteuid().as_raw();
    if FileType::from_raw_mode(stat.st_mode) != kind {
        Err(format!("{path}: it is not a regular file"))
    } else if stat.st_uid != own {
        let (theirs, name) = (user(stat.st_uid), user(own));
        let way_out = match own {
            // Its user may be that of a master, and needs it.
            0 => format!("run this as user {theirs}"),
            _ => format!("remove it, or run: chown {name} '{path}'"),
        };
        Err(format!("{path}: it belongs to user {theirs}, and not to user {name}; {way_out}"))
    } else if stat.st_mode & 0o022 != 0 {
        Err(format!(
            "{path}: others may write it (mode {:04o}); run: chmod go-w '{path}'",
            stat.st_mode & 0o7777
        ))
    } else {
        Ok(())
    }
}

/// The message of a failed access to a file.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error by value")]
pub fn message(path: &Path, error: io::Error) -> String {
    let reason = match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => "it is a symbolic link".to_owned(),
        _ => reason(&error),
    };
    format!("{}: {reason}", display(path))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    const NAME: &str = "record";
    /// The user `nobody` of most systems; any user but this one will do.
    const OTHER: u32 = 65_534;

    /// A private folder with a file in it.
    fn folder() -> (tempfile::TempDir, PrivateFolder) {
        let place = tempfile::tempdir().expect("a folder");
        let folder = PrivateFolder::make(&place.path().join("a/b")).expect("a private folder");
        folder.replace(NAME.as_ref(), b"text", 0o600).expect("a file");
        (place, folder)
    }

    fn read(folder: &PrivateFolder) -> Result<Vec<u8>, String> {
        folder.read(NAME.as_ref()).map(|(bytes, _)| bytes)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode");
    }

    #[test]
    fn folders_and_files_are_for_their_owner_alone() {
        let (place, folder) = folder();
        assert_eq!(read(&folder).as_deref(), Ok(&b"text"[..]));
        for (path, mode) in [("a", 0o700), ("a/b", 0o700), ("a/b/record", 0o600)] {
            let metadata = fs::metadata(place.path().join(path)).expect("it is there");
            assert_eq!(metadata.mode() & 0o777, mode, "{path}");
        }
    }

    #[test]
    fn what_others_may_write_is_refused() {
        let (_place, folder) = folder();
        let path = folder.path.join(NAME);
        for (mode, is_refused) in [(0o644, false), (0o620, true), (0o602, true)] {
            set_mode(&path, mode);
            assert_eq!(read(&folder).is_err(), is_refused, "{mode:o}");
            set_mode(&folder.path, mode | 0o111);
            assert_eq!(PrivateFolder::make(&folder.path).is_err(), is_refused, "{mode:o}");
        }
        let text = read(&folder).expect_err("it is refused");
        assert!(text.contains("others may write it (mode 0602); run: chmod go-w '"), "{text}");
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        let (_place, folder) = folder();
        let path = folder.path.join(NAME);
        if std::os::unix::fs::chown(&path, Some(OTHER), None).is_err() {
            return;
        }
        let text = read(&folder).expect_err("it is refused");
        assert!(text.contains("/a/b/record: it belongs to user "), "{text}");
        std::os::unix::fs::chown(&folder.path, Some(OTHER), None).expect("root");
        assert!(PrivateFolder::open(&folder.path).is_err());
        // The other user could not use what root makes there.
        let text = PrivateFolder::make(&folder.path.join("c/d")).expect_err("it is refused");
        assert!(text.contains("/c/d: its folder belongs to another user; run this as user "), "{text}");
        assert!(!folder.path.join("c").exists());
    }

    #[test]
    fn links_and_pipes_are_refused_and_replaced() {
        let (_place, folder) = folder();
        let path = folder.path.join(NAME);
        let victim = folder.path.join("victim");
        fs::write(&victim, "own").expect("a file");
        for made in [&|| symlink(&victim, &path).expect("a link"), &|| {
            rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .expect("a pipe");
        }] as [&dyn Fn(); 2]
        {
            fs::remove_file(&path).expect("a file");
            made();
            assert!(read(&folder).is_err());
            assert!(folder.file(NAME.as_ref(), OFlags::RDWR | OFlags::CREATE).is_err());
            folder.replace(NAME.as_ref(), b"new", 0o600).expect("a file");
            assert_eq!(read(&folder).as_deref(), Ok(&b"new"[..]));
        }
        assert_eq!(fs::read(&victim).expect("it is there"), b"own");
    }

    #[test]
    fn a_new_file_that_somebody_prepared_is_not_written() {
        let (_place, folder) = folder();
        let (new, victim) = (folder.path.join("record.new"), folder.path.join("victim"));
        fs::write(&victim, "own").expect("a file");
        let prepare: [&dyn Fn(); 2] = [&|| symlink(&victim, &new).expect("a link"), &|| {
            fs::write(&new, "").expect("a file");
            set_mode(&new, 0o666);
        }];
        for prepare in prepare {
            prepare();
            folder.replace(NAME.as_ref(), b"new", 0o600).expect("a file");
            assert_eq!(read(&folder).as_deref(), Ok(&b"new"[..]));
            assert!(!new.exists());
        }
        assert_eq!(fs::read(&victim).expect("it is there"), b"own");
        assert_eq!(fs::metadata(folder.path.join(NAME)).expect("it is there").mode() & 0o777, 0o600);
    }
}
