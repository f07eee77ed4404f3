//! What depends on the system. The storage is made for Linux. Another Unix has other calls for the same, but no
//! watch; a target without a system has nothing, so everything here fails.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::OFlags;
#[cfg(any(target_os = "linux", not(unix)))]
pub use rustix::fs::RawDir;
#[cfg(not(unix))]
pub use rustix::{now, os::*};
#[cfg(unix)]
pub use std::os::*;
#[cfg(unix)]
use std::time::SystemTime;

/// The time of the system's clock.
#[cfg(unix)]
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// Opens a folder for its name alone.
#[cfg(target_os = "linux")]
pub const PATH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub const PATH: OFlags = OFlags::RDONLY;

/// A clock that nobody sets.
#[cfg(target_os = "linux")]
pub const BOOTTIME: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
pub const BOOTTIME: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// Opens what is below a folder, without a link on the way. Only Linux has a call for it.
#[cfg(target_os = "linux")]
pub fn open_beneath(root: &fd::OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<fd::OwnedFd> {
    use rustix::fs::{Mode, ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path, flags, Mode::empty(), resolve)
}
#[cfg(not(target_os = "linux"))]
pub fn open_beneath(_: &fd::OwnedFd, _: &Path, _: OFlags) -> rustix::io::Result<fd::OwnedFd> {
    Err(rustix::io::Errno::NOSYS)
}

/// A file in memory; without that, one that has no name.
#[cfg(target_os = "linux")]
pub fn memory() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("reclass", rustix::fs::MemfdFlags::CLOEXEC)?))
}
#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "no file of an inventory")]
pub fn memory() -> io::Result<File> {
    use std::hash::{BuildHasher as _, RandomState};
    let path = std::env::temp_dir().join(format!("reclass-{:x}", RandomState::new().hash_one(0)));
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// The entries of a folder.
#[cfg(all(unix, not(target_os = "linux")))]
pub struct RawDir(rustix::io::Result<rustix::fs::Dir>);

#[cfg(all(unix, not(target_os = "linux")))]
impl RawDir {
    pub fn new(folder: &fd::OwnedFd, _: &mut [std::mem::MaybeUninit<u8>]) -> RawDir {
        RawDir(rustix::fs::Dir::read_from(folder))
    }

    pub fn next(&mut self) -> Option<rustix::io::Result<rustix::fs::DirEntry>> {
        match &mut self.0 {
            Ok(entries) => entries.read(),
            Err(error) => Some(Err(*error)),
        }
    }
}
