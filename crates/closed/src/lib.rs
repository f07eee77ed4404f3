//! Turns each call of the system that the storage makes into an error, for a target without files, clocks and programs:
//! it has the names of `rustix` and of `std::os`.
//!
//! Invariants: every call fails with [`io::Errno::NOSYS`], and none does anything. So the storage is the same on every
//! target, and a browser that cannot do something gets an error with a message.
#![cfg(not(unix))]
#![allow(
    missing_docs,
    clippy::missing_docs_in_private_items,
    reason = "each name is documented where it is from"
)]

/// Functions that fail.
macro_rules! closed {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(pub fn $name($(_: $argument),*) -> crate::io::Result<$result> {
            Err(crate::io::Errno::NOSYS)
        })*
    };
}

/// Flags that no call reads.
macro_rules! flags {
    ($($name:ident: $($flag:ident)*;)*) => {
        $(#[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name;
        impl $name {
            $(pub const $flag: $name = $name;)*
            #[must_use]
            pub const fn empty() -> $name { $name }
            #[must_use]
            pub const fn union(self, _: $name) -> $name { $name }
            #[must_use]
            pub const fn bits(self) -> u32 { 0 }
            #[must_use]
            pub const fn contains(self, _: $name) -> bool { false }
            #[must_use]
            pub const fn intersects(self, _: $name) -> bool { false }
            #[must_use]
            pub const fn from_raw_mode(_: u32) -> $name { $name }
        }
        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, _: $name) -> $name { $name }
        })*
    };
}

pub mod io {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Errno(i32);
    pub type Result<T> = std::result::Result<T, Errno>;

    /// The numbers of Linux, of which no call returns one but the first.
    macro_rules! errors {
        ($($name:ident $number:literal)*) => { $(pub const $name: Errno = Errno($number);)* };
    }
    impl Errno {
        errors! { NOSYS 38 PERM 1 NOENT 2 INTR 4 NXIO 6 CHILD 10 AGAIN 11 WOULDBLOCK 11 ACCESS 13 EXIST 17 XDEV 18
        NODEV 19 NOTDIR 20 INVAL 22 LOOP 40 NODATA 61 NOTSUP 95 }
        pub fn from_io_error(_: &std::io::Error) -> Option<Errno> {
            None
        }
        pub fn raw_os_error(self) -> i32 {
            self.0
        }
    }
    impl From<Errno> for std::io::Error {
        fn from(error: Errno) -> std::io::Error {
            std::io::Error::from(match error {
                Errno::NOENT => std::io::ErrorKind::NotFound,
                Errno::NOTDIR => std::io::ErrorKind::NotADirectory,
                _ => std::io::ErrorKind::Unsupported,
            })
        }
    }
}

pub mod fs {
    use std::fs::File;
    use std::path::Path;

    use crate::os::fd::AsFd;

    pub type RawMode = u32;
    pub const CWD: () = ();

    flags! {
        OFlags: RDONLY WRONLY RDWR CREATE EXCL DIRECTORY CLOEXEC NOFOLLOW NONBLOCK NOCTTY PATH;
        Mode: RUSR WUSR;
        AtFlags: SYMLINK_NOFOLLOW EACCESS;
        Access: READ_OK WRITE_OK EXEC_OK;
        XattrFlags: ;
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum FileType {
        RegularFile,
        Directory,
        Symlink,
        Unknown,
    }
    impl FileType {
        pub fn from_raw_mode(_: u32) -> FileType {
            FileType::Unknown
        }
    }
    pub enum FlockOperation {
        NonBlockingLockExclusive,
        Unlock,
    }
    pub enum SeekFrom {
        Hole(u64),
    }

    /// The state of a file, of which there is none.
    #[derive(Clone, Copy)]
    pub struct Stat {
        pub st_mtime: i64,
        pub st_mtime_nsec: i64,
        pub st_ctime: i64,
        pub st_ctime_nsec: i64,
        pub st_size: i64,
        pub st_ino: u64,
        pub st_dev: u64,
        pub st_nlink: u64,
        pub st_mode: u32,
        pub st_uid: u32,
    }

    pub struct RawDir;
    pub struct RawDirEntry;
    impl RawDir {
        pub fn new(_: impl AsFd, _: &mut [std::mem::MaybeUninit<u8>]) -> RawDir {
            RawDir
        }
        pub fn next(&mut self) -> Option<crate::io::Result<RawDirEntry>> {
            None
        }
    }
    impl RawDirEntry {
        pub fn file_name(&self) -> &std::ffi::CStr {
            c""
        }
        pub fn file_type(&self) -> FileType {
            FileType::Unknown
        }
    }

    closed! {
        open(impl AsRef<Path>, OFlags, Mode) -> File;
        openat(impl AsFd, impl EntryName, OFlags, Mode) -> File;
        stat(impl AsRef<Path>) -> Stat;
        statat(impl AsFd, impl EntryName, AtFlags) -> Stat;
        fstat(impl AsFd) -> Stat;
        accessat(impl AsFd, impl EntryName, Access, AtFlags) -> ();
        seek(impl AsFd, SeekFrom) -> u64;
        flock(impl AsFd, FlockOperation) -> ();
        renameat(impl AsFd, impl EntryName, impl AsFd, impl EntryName) -> ();
        unlinkat(impl AsFd, impl EntryName, AtFlags) -> ();
        mkdirat(impl AsFd, impl EntryName, Mode) -> ();
    }
    pub fn flistxattr<B>(_: impl AsFd, _: B) -> crate::io::Result<usize> {
        Err(crate::io::Errno::NOSYS)
    }
    pub fn fgetxattr<B>(_: impl AsFd, _: impl EntryName, _: B) -> crate::io::Result<usize> {
        Err(crate::io::Errno::NOSYS)
    }
    closed! {
        fsetxattr(impl AsFd, impl EntryName, &[u8], XattrFlags) -> ();
        fremovexattr(impl AsFd, impl EntryName) -> ();
    }

    /// The name of a file in an open folder.
    pub trait EntryName {}
    impl<T: ?Sized> EntryName for &T {}
}

pub mod buffer {
    pub fn spare_capacity(buffer: &mut Vec<u8>) -> &mut Vec<u8> {
        buffer
    }
}

pub mod process {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Uid;
    impl Uid {
        pub fn as_raw(self) -> u32 {
            0
        }
    }
    pub fn getuid() -> Uid {
        Uid
    }
    pub fn geteuid() -> Uid {
        Uid
    }
    #[derive(Clone, Copy)]
    pub struct Pid;
    impl Pid {
        pub fn from_raw(_: i32) -> Option<Pid> {
            None
        }
    }
    pub enum Signal {
        KILL,
    }
    closed! { kill_process_group(Pid, Signal) -> (); }
}

pub mod time {
    #[derive(Default)]
    pub struct Timespec;
    pub enum ClockId {
        Monotonic,
    }
    pub fn clock_gettime(_: ClockId) -> Timespec {
        Timespec
    }
    impl TryFrom<Timespec> for std::time::Duration {
        type Error = ();
        fn try_from(_: Timespec) -> Result<std::time::Duration, ()> {
            Err(())
        }
    }
}

pub mod os {
    pub mod fd {
        pub type OwnedFd = std::fs::File;
        /// An open file.
        pub trait AsFd {}
        impl AsFd for () {}
        impl AsFd for std::fs::File {}
        impl<T: AsFd> AsFd for &T {}
        impl<T: AsFd> AsFd for &mut T {}
    }

    pub mod unix {
        pub mod ffi {
            use std::ffi::OsStr;
            pub trait OsStrExt {
                fn from_bytes(bytes: &[u8]) -> &OsStr;
                fn as_bytes(&self) -> &[u8];
            }
            impl OsStrExt for OsStr {
                /// Every name was text before it was bytes.
                fn from_bytes(bytes: &[u8]) -> &OsStr {
                    OsStr::new(std::str::from_utf8(bytes).unwrap_or("\u{fffd}"))
                }
                fn as_bytes(&self) -> &[u8] {
                    self.as_encoded_bytes()
                }
            }
        }

        pub mod fs {
            use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};

            pub trait OpenOptionsExt {
                fn custom_flags(&mut self, flags: i32) -> &mut Self;
            }
            impl OpenOptionsExt for OpenOptions {
                fn custom_flags(&mut self, _: i32) -> &mut Self {
                    self
                }
            }
            pub trait DirBuilderExt {
                fn mode(&mut self, mode: u32) -> &mut Self;
            }
            impl DirBuilderExt for DirBuilder {
                fn mode(&mut self, _: u32) -> &mut Self {
                    self
                }
            }
            pub trait MetadataExt {
                fn dev(&self) -> u64 {
                    0
                }
                fn ino(&self) -> u64 {
                    0
                }
                fn nlink(&self) -> u64 {
                    0
                }
                fn mode(&self) -> u32 {
                    0
                }
                fn uid(&self) -> u32 {
                    0
                }
                fn gid(&self) -> u32 {
                    0
                }
            }
            impl MetadataExt for Metadata {}
            pub trait PermissionsExt {
                fn from_mode(mode: u32) -> Permissions;
            }
            impl PermissionsExt for Permissions {
                fn from_mode(_: u32) -> Permissions {
                    unreachable!("there is no file whose mode could be set")
                }
            }
            pub fn fchown(
                _: impl std::borrow::Borrow<File>,
                _: Option<u32>,
                _: Option<u32>,
            ) -> std::io::Result<()> {
                Err(std::io::ErrorKind::Unsupported.into())
            }
        }

        pub mod process {
            pub trait CommandExt {
                fn process_group(&mut self, group: i32) -> &mut Self;
            }
            impl CommandExt for std::process::Command {
                fn process_group(&mut self, _: i32) -> &mut Self {
                    self
                }
            }
        }
    }
}

/// The recursion goes on with the stack that there is.
pub fn maybe_grow<T>(_: usize, _: usize, level: impl FnOnce() -> T) -> T {
    level()
}

/// Now. A target without a clock has one moment.
#[must_use]
pub fn now() -> std::time::SystemTime {
    std::time::UNIX_EPOCH
}
