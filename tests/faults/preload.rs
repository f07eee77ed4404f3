//! A library that stands between a process and the C library: one file operation, the n-th below a
//! folder, fails or reads less than it could.
//!
//! `FAULTS_BELOW` is the folder. Reading the link `/faults/N/ERRNO` has the N-th operation from then on
//! fail with that error number; reading it again tells how many there were, as its target. The numbers
//! `-1` and `-2` have reads give half of what they could, and nothing; above 1000, all operations from that
//! one on fail.
#![allow(clippy::missing_safety_doc, reason = "the C library has the documentation")]

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};

/// Reads give half of what they could.
const SHORT: i32 = -1;
/// Reads say that the file has ended.
const ENDED: i32 = -2;
/// Added to an error number: all operations from that one on fail.
const LASTING: i32 = 1000;
const EBADF: i32 = 9;
#[cfg(target_arch = "x86_64")]
const GETDENTS64: c_long = 217;
#[cfg(target_arch = "aarch64")]
const GETDENTS64: c_long = 61;

/// Which operation fails; 0 for none.
static AT: AtomicUsize = AtomicUsize::new(0);
static ERROR: AtomicI32 = AtomicI32::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);
/// The descriptors of files below the folder.
static FILES: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
/// The descriptor that tells of changes: no read of it says that it has ended.
static WATCH: AtomicI32 = AtomicI32::new(-1);
/// The streams of folders below it.
static FOLDERS: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

unsafe extern "C" {
    fn dlsym(library: *const c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
}

/// The function of the C library.
macro_rules! real {
    ($name:ident ( $($type:ty),* ) -> $result:ty) => {{
        let name = concat!(stringify!($name), "\0");
        let next = usize::MAX as *const c_void;
        let found = dlsym(next, name.as_ptr().cast());
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(found)
    }};
}

fn is_below(path: *const c_char) -> bool {
    if path.is_null() || AT.load(Relaxed) == 0 {
        return false;
    }
    let (path, folder) = unsafe { (CStr::from_ptr(path), getenv(c"FAULTS_BELOW".as_ptr())) };
    !folder.is_null() && path.to_bytes().starts_with(unsafe { CStr::from_ptr(folder) }.to_bytes())
}

fn file(descriptor: c_int) -> Option<&'static AtomicBool> {
    FILES.get(usize::try_from(descriptor).ok()?)
}

fn is_ours(descriptor: c_int) -> bool {
    AT.load(Relaxed) != 0 && file(descriptor).is_some_and(|file| file.load(Relaxed))
}

/// Counts an operation; whether it is the one that fails.
fn strikes(ours: bool) -> bool {
    let (at, lasting) = (AT.load(Relaxed), ERROR.load(Relaxed) > LASTING);
    let seen = if ours { SEEN.fetch_add(1, Relaxed) + 1 } else { 0 };
    seen == at && ours || seen > at && lasting
}

/// Has the operation fail, but for reads that only give less.
fn fails(ours: bool) -> bool {
    let error = ERROR.load(Relaxed);
    let failed = strikes(ours) && error > 0;
    if failed {
        unsafe { *__errno_location() = error % LASTING };
    }
    failed
}

/// Whether a path, which may be relative to an open folder or empty for itself, is below the folder.
fn is_at(folder: c_int, path: *const c_char) -> bool {
    let relative = path.is_null() || unsafe { *path } != b'/'.cast_signed();
    if relative { folder > 0 && is_ours(folder) } else { is_below(path) }
}

/// Takes note of a file that was opened.
fn opened(ours: bool, descriptor: c_int) -> c_int {
    if descriptor >= 0 && let Some(file) = file(descriptor) {
        file.store(ours, Relaxed);
    }
    descriptor
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    let ours = is_at(folder, path);
    if fails(ours) {
        return -1;
    }
    let next = unsafe { real!(openat64(c_int, *const c_char, c_int, c_uint) -> c_int) };
    opened(ours, unsafe { next(folder, path, flags, mode) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    unsafe { openat64(folder, path, flags, mode) }
}

/// `getdents64` has no function of its own in every C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == GETDENTS64 && fails(is_ours(a as c_int)) {
        return -1;
    }
    let next =
        unsafe { real!(syscall(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long) };
    unsafe { next(number, a, b, c, d, e, f) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    if fails(is_below(path)) {
        return -1;
    }
    opened(is_below(path), unsafe { real!(open64(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    if fails(is_below(path)) {
        return -1;
    }
    opened(is_below(path), unsafe { real!(open(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode) })
}

/// A descriptor that tells of changes: whatever is below the folder is all that is watched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inotify_init1(flags: c_int) -> c_int {
    if fails(AT.load(Relaxed) != 0) {
        return -1;
    }
    let descriptor = unsafe { real!(inotify_init1(c_int) -> c_int)(flags) };
    WATCH.store(descriptor, Relaxed);
    opened(true, descriptor)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn inotify_add_watch(descriptor: c_int, path: *const c_char, mask: c_uint) -> c_int {
    if fails(is_below(path)) {
        return -1;
    }
    let next = unsafe { real!(inotify_add_watch(c_int, *const c_char, c_uint) -> c_int) };
    unsafe { next(descriptor, path, mask) }
}

/// A file in memory, for what git reads and writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memfd_create(name: *const c_char, flags: c_uint) -> c_int {
    if fails(AT.load(Relaxed) != 0) {
        return -1;
    }
    opened(true, unsafe { real!(memfd_create(*const c_char, c_uint) -> c_int)(name, flags) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if let Some(file) = file(descriptor) {
        file.store(false, Relaxed);
    }
    unsafe { real!(close(c_int) -> c_int)(descriptor) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(descriptor: c_int, into: *mut c_void, room: usize) -> isize {
    let struck = strikes(is_ours(descriptor));
    let room = match ERROR.load(Relaxed) {
        SHORT if struck && room > 1 => room / 2,
        ENDED if struck && descriptor != WATCH.load(Relaxed) => return 0,
        error if struck && error > 0 => {
            unsafe { *__errno_location() = error % LASTING };
            return -1;
        }
        _ => room,
    };
    unsafe { real!(read(c_int, *mut c_void, usize) -> isize)(descriptor, into, room) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, from: *const c_void, count: usize) -> isize {
    if fails(is_ours(descriptor)) {
        return -1;
    }
    unsafe { real!(write(c_int, *const c_void, usize) -> isize)(descriptor, from, count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    into: *mut c_void,
) -> c_int {
    // The standard library asks once without any file whether there is such a function.
    if fails(is_at(folder, path)) {
        return -1;
    }
    unsafe {
        let next = real!(statx(c_int, *const c_char, c_int, c_uint, *mut c_void) -> c_int);
        next(folder, path, flags, mask, into)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn opendir(path: *const c_char) -> *mut c_void {
    if fails(is_below(path)) {
        return std::ptr::null_mut();
    }
    let stream = unsafe { real!(opendir(*const c_char) -> *mut c_void)(path) };
    if is_below(path) && !stream.is_null() {
        let free = FOLDERS.iter().find(|known| {
            known.compare_exchange(0, stream as usize, Relaxed, Relaxed).is_ok()
        });
        free.expect("fewer folders are open");
    }
    stream
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn readdir64(stream: *mut c_void) -> *mut c_void {
    let ours = AT.load(Relaxed) != 0 && FOLDERS.iter().any(|known| known.load(Relaxed) == stream as usize);
    if fails(ours) {
        return std::ptr::null_mut();
    }
    unsafe { real!(readdir64(*mut c_void) -> *mut c_void)(stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn closedir(stream: *mut c_void) -> c_int {
    if let Some(known) = FOLDERS.iter().find(|known| known.load(Relaxed) == stream as usize) {
        known.store(0, Relaxed);
    }
    unsafe { real!(closedir(*mut c_void) -> c_int)(stream) }
}

/// Operations on one path that give back 0 or -1.
macro_rules! on_path {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char $(, $argument: $type)*) -> c_int {
            if fails(is_below(path)) {
                return -1;
            }
            unsafe { real!($name(*const c_char $(, $type)*) -> c_int)(path $(, $argument)*) }
        }
    )* };
}

on_path! {
    rename(to: *const c_char);
    unlink();
    mkdir(mode: c_uint);
    chmod(mode: c_uint);
    chown(user: c_uint, group: c_uint);
    truncate64(size: c_long);
    statfs64(into: *mut c_void);
}

/// Operations on an open file that give back 0 or -1.
macro_rules! on_file {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(descriptor: c_int $(, $argument: $type)*) -> c_int {
            if fails(is_ours(descriptor)) {
                return -1;
            }
            unsafe { real!($name(c_int $(, $type)*) -> c_int)(descriptor $(, $argument)*) }
        }
    )* };
}

on_file! {
    fsync();
    flock(operation: c_int);
    fchmod(mode: c_uint);
    fchown(user: c_uint, group: c_uint);
    ftruncate64(size: c_long);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, into: *mut c_char) -> *mut c_char {
    if fails(is_below(path)) {
        return std::ptr::null_mut();
    }
    unsafe { real!(realpath(*const c_char, *mut c_char) -> *mut c_char)(path, into) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, into: *mut c_char, room: usize) -> isize {
    let asked = unsafe { CStr::from_ptr(path) }.to_bytes();
    if let Some(asked) = asked.strip_prefix(b"/faults/").and_then(|rest| std::str::from_utf8(rest).ok()) {
        let Some((at, error)) = asked.split_once('/') else {
            unsafe { *__errno_location() = EBADF };
            return -1;
        };
        let seen = SEEN.swap(0, Relaxed).to_string();
        ERROR.store(error.parse().unwrap_or(0), Relaxed);
        AT.store(at.parse().unwrap_or(0), Relaxed);
        let length = seen.len().min(room);
        unsafe { std::ptr::copy_nonoverlapping(seen.as_ptr(), into.cast(), length) };
        return length.cast_signed();
    }
    if fails(is_below(path)) {
        return -1;
    }
    unsafe { real!(readlink(*const c_char, *mut c_char, usize) -> isize)(path, into, room) }
}
