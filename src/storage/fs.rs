//! Reads files on disk, with fingerprints that prove they are unchanged, and resolves paths of settings
//! (`yaml_fs`).
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, FileType, OFlags, SeekFrom};
use rustix::io::Errno;

use super::access_error::reason_at;
use super::address::{refuse_address, without_scheme};
use super::{beneath, os};
use crate::storage::os::fd::AsFd;
use crate::storage::os::unix::fs::OpenOptionsExt;
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::similar;
use reclass_base::value::{Text, Value};

/// Identifies a state of a file or folder.
///
/// A fingerprint taken within two seconds after a change is `young`. Another change in the same tick of the
/// clock would not show, so a young fingerprint proves nothing (as in git).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskFingerprint {
    modified: (i64, i64),
    changed: (i64, i64),
    size: u64,
    inode: u64,
    device: u64,
    /// Whether the file has several hard links.
    hard_links: bool,
    young: bool,
}

/// The longest tick of the kernel's clock: the time of a file is up to that much too old.
const CLOCK_TICK: Duration = Duration::from_millis(10);
/// The settling time of an empty file, in settling times of others.
const EMPTY_FACTOR: u32 = 10;
/// The age from which a change is no longer young.
const SETTLED: Duration = Duration::from_secs(2);

/// The time from which changes are young, in seconds and nanoseconds since 1970. It is taken before
/// fingerprints, and may serve for many of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettledBefore((i64, i64));

impl SettledBefore {
    /// For fingerprints taken from now on.
    pub(super) fn now() -> SettledBefore {
        let now = os::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let read_until_settled = now.saturating_sub(SETTLED);
        SettledBefore((
            i64::try_from(read_until_settled.as_secs()).unwrap_or(i64::MAX),
            i64::from(read_until_settled.subsec_nanos()),
        ))
    }
}

impl DiskFingerprint {
    /// The fingerprint from the result of `stat`.
    pub(super) fn of(stat: &rustix::fs::Stat, young: SettledBefore) -> DiskFingerprint {
        // The types of the fields differ between platforms.
        #[allow(clippy::useless_conversion, reason = "the kernel's type; the C library has another")]
        let signed = |number| i64::try_from(number).unwrap_or(i64::MAX);
        let modified = (stat.st_mtime, signed(stat.st_mtime_nsec));
        let changed = (stat.st_ctime, signed(stat.st_ctime_nsec));
        DiskFingerprint {
            modified,
            changed,
            size: number(stat.st_size),
            inode: stat.st_ino,
            device: number(stat.st_dev),
            hard_links: stat.st_nlink > 1 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile,
            young: changed >= young.0 || modified >= young.0,
        }
    }
    /// The fingerprint of an open file.
    pub(super) fn of_open(file: impl AsFd, young: SettledBefore) -> rustix::io::Result<DiskFingerprint> {
        Ok(DiskFingerprint::of(&rustix::fs::fstat(file)?, young))
    }
    /// The device and inode, which identify a file or folder.
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
    /// The time of the last change: of the content, the name, the owner or the mode.
    pub fn changed(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.changed;
        let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
        UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds)
    }
    /// Whether the file may be written under another name.
    pub fn has_hard_links(&self) -> bool {
        self.hard_links
    }
    /// How long to wait until a file was unchanged for `settle`; `None` if it was.
    ///
    /// A time in the future means that nobody is writing the file, unless the clock of a file server is
    /// slightly ahead.
    fn unsettled(&self, settle: Duration) -> Option<Duration> {
        let now = os::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanoseconds) = self.modified;
        let written =
            Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanoseconds).unwrap_or(0));
        let ahead = written.saturating_sub(now);
        // The time of a file is that of the last tick of the kernel's clock. An empty file waits longer: on a
        // busy machine a writer may take long from truncating a file to writing it.
        let settle = if self.size == 0 { settle * EMPTY_FACTOR } else { settle };
        let settle = if settle.is_zero() { settle } else { settle + CLOCK_TICK };
        let wait = settle.saturating_sub(now.saturating_sub(written));
        (ahead < SETTLED && !wait.is_zero()).then_some(wait)
    }
    /// Makes this fingerprint prove nothing.
    pub(super) fn distrust(&mut self) {
        self.young = true;
    }
    /// Whether both show the same state of a file, even if it is young.
    pub fn is_same_file_state(&self, other: &DiskFingerprint) -> bool {
        DiskFingerprint { young: false, ..*self } == DiskFingerprint { young: false, ..*other }
    }
    /// Whether a file with this fingerprint is unchanged since the earlier one.
    pub fn proves_unchanged(&self, earlier: &DiskFingerprint) -> bool {
        !earlier.young
            && (self.modified, self.changed, self.size, self.inode, self.device)
                == (earlier.modified, earlier.changed, earlier.size, earlier.inode, earlier.device)
    }
}

/// The current fingerprint of a file or folder.
pub fn fingerprint(path: &Path) -> io::Result<DiskFingerprint> {
    let young = SettledBefore::now();
    Ok(DiskFingerprint::of(&rustix::fs::stat(path)?, young))
}

/// The paths of the files and folders in a folder, sorted.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// Reads a regular file. The fingerprint is from before the read.
///
/// A file that changes meanwhile is read again. Special files, files larger than `limit`, and files whose
/// size differs from their content, as in `/proc`, are refused. Opening one never blocks.
pub fn read(path: &Path, limit: usize) -> Result<(Vec<u8>, DiskFingerprint)> {
    let (bytes, fingerprint, _) = read_by(path, limit, &|| open(path))?;
    Ok((bytes, fingerprint))
}

/// How often a file is read if it keeps changing.
const MAX_READS: usize = 50;

/// The pauses in milliseconds before a file is read that changed during the read before.
const PAUSES: [u64; 6] = [0, 1, 4, 16, 64, 256];

/// Like [`read`], but waits until nobody is writing the file.
///
/// A writer that truncates a file leaves it empty for a moment. So a file that changed less than `settle`
/// ago must stay unchanged for that long. Many files written at once, as by `git checkout`, need only one
/// wait in total.
pub fn read_settled(path: &Path, limit: usize, settle: Duration) -> Result<(Vec<u8>, DiskFingerprint)> {
    read_until_settled(path, limit, settle, &|| open(path))
}

/// Like `read_settled`, for a file below `root`. Both are real paths. A link on the path is an error.
pub fn read_beneath(
    root: &Path,
    path: &Path,
    limit: usize,
    settle: Duration,
) -> Result<(Vec<u8>, DiskFingerprint)> {
    read_until_settled(path, limit, settle, &|| {
        let folder = beneath::folder(root, path.parent().unwrap_or(root))?;
        beneath::file(&folder, path.file_name().unwrap_or_default(), OPEN_FLAGS)
    })
}

fn read_until_settled(
    path: &Path,
    limit: usize,
    settle: Duration,
    open: &dyn Fn() -> io::Result<fs::File>,
) -> Result<(Vec<u8>, DiskFingerprint)> {
    for _ in 0..MAX_READS {
        let (bytes, fingerprint, file) = read_by(path, limit, open)?;
        let Some(wait) = fingerprint.unsettled(settle) else { return Ok((bytes, fingerprint)) };
        // An empty file waits in steps, so that its new content is seen early.
        let step = wait.min(settle + CLOCK_TICK);
        std::thread::sleep(step);
        // Checks the open file: a new file in its place does not affect this one.
        let now = DiskFingerprint::of_open(&file, SettledBefore::now());
        let unchanged =
            now.is_ok_and(|now| (now.modified, now.size) == (fingerprint.modified, fingerprint.size));
        if unchanged && step == wait {
            return Ok((bytes, fingerprint));
        }
    }
    let message = format!("it is never left alone for {} ms (settle_time)", settle.as_millis());
    Err(Fault::new(Kind::FileChanging { path: display(path), message }).into())
}

/// The flags for reading. A terminal must not become the terminal of this process.
const OPEN_FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

fn open(path: &Path) -> io::Result<fs::File> {
    let flags = i32::try_from(OPEN_FLAGS.bits()).unwrap_or(0);
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns the bytes of a file, its fingerprint, and the open file.
fn read_by(
    path: &Path,
    limit: usize,
    open: &dyn Fn() -> io::Result<fs::File>,
) -> Result<(Vec<u8>, DiskFingerprint, fs::File)> {
    let unreadable = |message: String| Fault::new(Kind::FileUnreadable { path: display(path), message });
    let failed = |error: io::Error| unreadable(reason_at(path, Access::READ_OK, &error));
    let no_file = || unreadable("it is not a regular file".into());
    let unopened = |error: io::Error| match Errno::from_io_error(&error) {
        // A socket, or a device without a driver.
        Some(Errno::NXIO | Errno::NODEV) => no_file(),
        _ => failed(error),
    };
    let mut is_changing = false;
    for pause in PAUSES {
        if is_changing {
            std::thread::sleep(Duration::from_millis(pause));
        }
        let mut file = open().map_err(unopened)?;
        let young = SettledBefore::now();
        let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(no_file().into());
        }
        let fingerprint = DiskFingerprint::of(&stat, young);
        if usize::try_from(fingerprint.size).is_ok_and(|size| size > limit) {
            return Err(too_large(path, limit));
        }
        let size = usize::try_from(fingerprint.size).unwrap_or(0);
        let mut bytes = vec![0; size];
        let whole = fill(&mut file, &mut bytes).map_err(failed)?;
        let after = DiskFingerprint::of_open(&file, young).map_err(|error| failed(error.into()))?;
        is_changing = !after.is_same_file_state(&fingerprint);
        if whole && !is_changing {
            return Ok((bytes, fingerprint, file));
        }
    }
    if is_changing {
        let message = format!("it was another one after each of {} attempts", PAUSES.len());
        return Err(Fault::new(Kind::FileChanging { path: display(path), message }).into());
    }
    // No fingerprint would show its changes.
    Err(unreadable("it is not a regular file: its size is not that of its content".into()).into())
}

/// Fills the buffer, and returns whether the file has exactly that many bytes. Tests even an empty file for
/// content, because files in `/proc` have size zero.
fn fill(file: &mut fs::File, bytes: &mut [u8]) -> io::Result<bool> {
    if bytes.is_empty() {
        // During truncation, a file already has its new size but still its old time. Seeking a hole waits
        // for the end of the truncation on ext4 and tmpfs; reading does on XFS.
        let _ = rustix::fs::seek(&*file, SeekFrom::Hole(0));
        return loop {
            match file.read(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map(|count| count == 0),
            }
        };
    }
    match file.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        result => result.map(|()| true),
    }
}

/// The error for a file larger than `limit`.
pub fn too_large(path: &Path, limit: usize) -> reclass_base::error::Error {
    let what = format!("the size of '{}' in bytes", display(path));
    Fault::new(Kind::YamlLimit { what, limit, setting: Some("limit_file_size") }).into()
}

/// Whether a file exists exactly if it was listed. A symbolic link always differs: a tree with one must be
/// listed, and is not watched from then on.
pub fn is_as_listed(path: &Path, listed: bool) -> bool {
    match fs::symlink_metadata(path) {
        Ok(metadata) => listed && !metadata.is_symlink(),
        Err(_) => !listed,
    }
}

/// A number of a file's state, whose type depends on the system.
fn number(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// Writes a file or a link for a test, with its parent folders.
#[cfg(test)]
pub fn put(path: &Path, bytes: &[u8], link: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if link {
        use std::os::unix::ffi::OsStrExt as _;
        std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(bytes), path)
    } else {
        fs::write(path, bytes)
    }
}

/// The system's text for an error, without its number.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// A path as the address of a file has it: all bytes but letters, digits and `/-._~` are escaped.
pub fn percent_encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The text that percent encoding stands for; `None` if it is damaged, or no text.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let code = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A path for messages.
pub fn display(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// For who names the address of a repository without the storage for it.
const A_FOLDER: &str = "a folder; a repository needs 'storage_type: yaml_git', and a mapping with 'repo'";

/// The absolute folders in `nodes_uri` or `classes_uri`. Relative paths begin at `base`, `~` is the home
/// folder, and `..` is resolved without following links, as in Python's `os.path.abspath`.
pub fn roots(base: Option<&str>, uri: &Value, setting: &'static str) -> Result<Vec<PathBuf>> {
    let one = |text: &str| -> Result<PathBuf> {
        let text = without_scheme(text);
        refuse_address(setting, text, A_FOLDER)?;
        refuse_address("inventory_base_uri", base.map_or("", without_scheme), A_FOLDER)?;
        absolute(base, Path::new(text)).ok_or_else(|| {
            let message = "it is gone".into();
            Fault::new(Kind::DirectoryNotFound { path: ".".into(), message, similar: None }).into()
        })
    };
    match uri {
        Value::Str(text) => Ok(vec![one(text)?]),
        Value::List(items) | Value::Tuple(items) if !items.is_empty() => items
            .iter()
            .map(|item| match item {
                Value::Str(text) => one(text),
                _ => Err(uri_type(setting, item)),
            })
            .collect(),
        _ => Err(uri_type(setting, uri)),
    }
}

/// The text in a setting that names this folder, as [`roots`] reads it.
pub fn naming<'v>(base: Option<&str>, uri: &'v Value, folder: &Path) -> Option<&'v Text> {
    match uri {
        Value::Str(text) => {
            let path = Path::new(without_scheme(text));
            (absolute(base, path).as_deref() == Some(folder)).then_some(text)
        }
        Value::List(items) | Value::Tuple(items) => items.iter().find_map(|item| naming(base, item, folder)),
        Value::Map(map) => map.values().find_map(|value| naming(base, value, folder)),
        _ => None,
    }
}

/// The fault for an unreadable or missing folder. For a missing one it suggests a sibling with a similar
/// name; if its parents are missing too, a sibling of the highest missing one.
pub fn folder_unreadable(folder: &Path, error: &io::Error) -> Fault {
    let message = reason_at(folder, Access::READ_OK, error);
    if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
        return Fault::new(Kind::DirectoryUnreadable { path: display(folder), message });
    }
    let is_there = |folder: &&Path| folder.parent().is_none_or(|parent| parent.try_exists().unwrap_or(true));
    let highest = folder.ancestors().find(is_there).unwrap_or(folder);
    let name = highest.file_name().unwrap_or_default().to_string_lossy();
    let beside: Vec<String> = highest
        .parent()
        .and_then(|parent| fs::read_dir(parent).ok())
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().filter(|entry| entry.path().is_dir())?.file_name().into_string().ok())
        .filter(|other| *other != name)
        .collect();
    let similar = similar::nearest(&name, beside.iter().map(String::as_str));
    let similar = similar.map(|similar| {
        if highest == folder { similar.to_owned() } else { display(&highest.with_file_name(similar)) }
    });
    Fault::new(Kind::DirectoryNotFound { path: display(folder), message, similar })
}

/// The path without links and `..`, if it exists.
pub fn real(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// The target of a link, absolute if the link's path is absolute; `None` if it is no link.
pub fn link_target(path: &Path) -> Option<PathBuf> {
    absolute(None, &path.parent()?.join(fs::read_link(path).ok()?))
}

/// The UTF-8 names in a folder; empty if it is unreadable.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// An absolute path, as in Python's `os.path.abspath`. Relative paths begin at `base`, and `~` is the home
/// folder. `None` if the current folder is needed but deleted.
pub fn absolute(base: Option<&str>, path: &Path) -> Option<PathBuf> {
    let path = home(path);
    if path.has_root() {
        return Some(lexical(&path));
    }
    let base = base.map(|base| home(Path::new(without_scheme(base))));
    let joined = base.unwrap_or_default().join(path);
    let absolute = if joined.has_root() { joined } else { std::env::current_dir().ok()?.join(joined) };
    Some(lexical(&absolute))
}

/// The path from a folder to a file, with `..` where it leads up, between their real paths as far as they exist.
pub fn real_relative(path: &Path, folder: &Path) -> PathBuf {
    let [path, folder] = [path, folder].map(|path| real(path).unwrap_or_else(|| lexical(path)));
    let [path, folder] = [&path, &folder].map(|path| path.components().collect::<Vec<_>>());
    let same = path.iter().zip(&folder).take_while(|(one, other)| one == other).count();
    let up = folder[same..].iter().map(|_| Component::ParentDir);
    up.chain(path[same..].iter().copied()).collect()
}

fn uri_type(setting: &'static str, value: &Value) -> reclass_base::error::Error {
    Fault::new(Kind::SettingType {
        name: setting.into(),
        expected: "a path or a list of paths".into(),
        actual: value.type_name().into(),
    })
    .into()
}

fn home(path: &Path) -> PathBuf {
    let Ok(rest) = path.strip_prefix("~") else { return path.to_owned() };
    std::env::home_dir().map_or_else(|| path.to_owned(), |home| home.join(rest))
}

fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_absolute_and_relative_to_the_base() {
        let root = |base, uri: &str| roots(base, &Value::text(uri), "nodes_uri").expect("a path")[0].clone();
        assert_eq!(root(Some("/b"), "nodes"), Path::new("/b/nodes"));
        assert_eq!(root(Some("/b/c"), "../nodes/."), Path::new("/b/nodes"));
        assert_eq!(root(Some("/b"), "/n"), Path::new("/n"));
    }
}
