//! A library between a process and the C library: one file operation, the n-th below a folder, fails or
//! does less than it could.
//!
//! `FAULTS_BELOW` is the folder. Reading the link `/faults/N/ERRNO/KINDS/LASTING` makes the N-th operation
//! of these kinds from then on fail with that error number, or all from that one on. The target of the link
//! is the number of operations of these kinds since the last time, and the number of those struck. With `-1`
//! as the error number, reads and writes do half of what they could; with `-2`, reads come to an end; with
//! `-3`, the process is killed there, a write half done.
#![allow(clippy::missing_safety_doc, reason = "the C library has the documentation")]

#[path = "preload/struck.rs"]
mod struck;

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};

use struck::{
    CLOSE, ENDED, Inside, KILLED, LOOK, MAKE, OPEN, READ, SHORT, WRITE, can_end, closed, end_if_killed, fails,
    is_armed, is_at, is_below, is_listed, is_ours, listed, opened, opened_whole, real, set_error, strikes,
    unlisted,
};

const EBADF: i32 = 9;
const O_CREAT: c_int = 0o100;
#[cfg(target_arch = "x86_64")]
const GETDENTS64: c_long = 217;
#[cfg(target_arch = "aarch64")]
const GETDENTS64: c_long = 61;
const OPENAT2: c_long = 437;

/// Operations that fail as a whole: what they give back then, their kind, and whether they are below
/// the folder.
macro_rules! operations {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $failed:expr, $kind:expr, $ours:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            let _inside = Inside::new();
            if fails($ours, $kind) {
                return $failed;
            }
            unsafe { real!($name($($type),*) -> $result)($($argument),*) }
        }
    )* };
}

type Path = *const c_char;
type Into = *mut c_void;
type From = *const c_void;

operations! {
    // By a path.
    stat64(path: Path, into: Into) -> c_int, -1, LOOK, is_below(path);
    lstat64(path: Path, into: Into) -> c_int, -1, LOOK, is_below(path);
    statfs64(path: Path, into: Into) -> c_int, -1, LOOK, is_below(path);
    fstatat64(folder: c_int, path: Path, into: Into, flags: c_int) -> c_int, -1, LOOK, is_at(folder, path);
    // The standard library asks once without any file whether there is such a function.
    statx(folder: c_int, path: Path, flags: c_int, mask: c_uint, into: Into) -> c_int, -1, LOOK, is_at(folder, path);
    realpath(path: Path, into: *mut c_char) -> *mut c_char, std::ptr::null_mut(), LOOK, is_below(path);
    unlink(path: Path) -> c_int, -1, LOOK, is_below(path);
    unlinkat(folder: c_int, path: Path, flags: c_int) -> c_int, -1, LOOK, is_at(folder, path);
    rename(from: Path, to: Path) -> c_int, -1, MAKE, is_below(from);
    renameat(around: c_int, from: Path, folder: c_int, to: Path) -> c_int, -1, MAKE, is_at(around, from);
    mkdir(path: Path, mode: c_uint) -> c_int, -1, MAKE, is_below(path);
    symlink(target: Path, path: Path) -> c_int, -1, MAKE, is_below(path);
    chown(path: Path, user: c_uint, group: c_uint) -> c_int, -1, LOOK, is_below(path);
    chmod(path: Path, mode: c_uint) -> c_int, -1, LOOK, is_below(path);
    listxattr(path: Path, into: Into, room: usize) -> isize, -1, LOOK, is_below(path);
    getxattr(path: Path, name: Path, into: Into, room: usize) -> isize, -1, LOOK, is_below(path);
    inotify_add_watch(watch: c_int, path: Path, mask: c_uint) -> c_int, -1, MAKE, is_below(path);
    // By a descriptor.
    fstat64(file: c_int, into: Into) -> c_int, -1, LOOK, is_ours(file);
    fsync(file: c_int) -> c_int, -1, MAKE, is_ours(file);
    flock(file: c_int, operation: c_int) -> c_int, -1, LOOK, is_ours(file);
    fchmod(file: c_int, mode: c_uint) -> c_int, -1, LOOK, is_ours(file);
    fchown(file: c_int, user: c_uint, group: c_uint) -> c_int, -1, LOOK, is_ours(file);
    lseek64(file: c_int, offset: i64, whence: c_int) -> i64, -1, LOOK, is_ours(file);
    flistxattr(file: c_int, into: Into, room: usize) -> isize, -1, LOOK, is_ours(file);
    fgetxattr(file: c_int, name: Path, into: Into, room: usize) -> isize, -1, LOOK, is_ours(file);
    fremovexattr(file: c_int, name: Path) -> c_int, -1, MAKE, is_ours(file);
    fsetxattr(file: c_int, name: Path, value: From, size: usize, flags: c_int) -> c_int, -1, MAKE, is_ours(file);
    // Of a folder.
    readdir64(stream: Into) -> Into, std::ptr::null_mut(), LOOK, is_listed(stream);
}

/// Operations that open a file or folder, or make one.
macro_rules! openings {
    ($($name:ident($($argument:ident: $type:ty),*), $kind:expr, $ours:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let _inside = Inside::new();
            let ours = $ours;
            if fails(ours, $kind) {
                return -1;
            }
            opened(ours, unsafe { real!($name($($type),*) -> c_int)($($argument),*) })
        }
    )* };
}

fn opening(flags: c_int) -> u8 {
    if flags & O_CREAT == 0 { OPEN } else { OPEN | MAKE }
}

openings! {
    open(path: Path, flags: c_int, mode: c_uint), opening(flags), is_below(path);
    open64(path: Path, flags: c_int, mode: c_uint), opening(flags), is_below(path);
    openat(folder: c_int, path: Path, flags: c_int, mode: c_uint), opening(flags), is_at(folder, path);
    openat64(folder: c_int, path: Path, flags: c_int, mode: c_uint), opening(flags), is_at(folder, path);
}

/// A file in memory, for what git reads and writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memfd_create(name: Path, flags: c_uint) -> c_int {
    let _inside = Inside::new();
    if fails(is_armed(), OPEN | MAKE) {
        return -1;
    }
    opened_whole(unsafe { real!(memfd_create(Path, c_uint) -> c_int)(name, flags) })
}

/// A descriptor that reports changes. Only files below the folder are watched, so it needs no path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inotify_init1(flags: c_int) -> c_int {
    let _inside = Inside::new();
    if fails(is_armed(), OPEN) {
        return -1;
    }
    opened_whole(unsafe { real!(inotify_init1(c_int) -> c_int)(flags) })
}

/// The file is closed even where that is said to have failed, as Linux does it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    let _inside = Inside::new();
    let ours = closed(descriptor);
    let done = unsafe { real!(close(c_int) -> c_int)(descriptor) };
    if fails(ours, CLOSE) { -1 } else { done }
}

/// `getdents64` and `openat2` have no function of their own in every C library.
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
    let _inside = Inside::new();
    let opens = number == OPENAT2 && is_at(a as c_int, b as Path);
    if number == GETDENTS64 && fails(is_ours(a as c_int), LOOK) || fails(opens, OPEN) {
        return -1;
    }
    let next =
        unsafe { real!(syscall(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long) };
    let done = unsafe { next(number, a, b, c, d, e, f) };
    if number == OPENAT2 { c_long::from(opened(opens, done as c_int)) } else { done }
}

/// How many bytes a read or write may do; the end or the failure of it instead.
fn room(descriptor: c_int, kind: u8, room: usize) -> Result<usize, isize> {
    match strikes(is_ours(descriptor) && can_end(descriptor), kind) {
        None => Ok(room),
        Some(SHORT | KILLED) => Ok(room.div_ceil(2)),
        Some(ENDED) => Err(0),
        Some(error) => {
            set_error(error);
            Err(-1)
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(descriptor: c_int, into: Into, most: usize) -> isize {
    let _inside = Inside::new();
    match room(descriptor, READ, most) {
        Ok(room) => unsafe { real!(read(c_int, Into, usize) -> isize)(descriptor, into, room) },
        Err(done) => done,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, from: From, most: usize) -> isize {
    let _inside = Inside::new();
    match room(descriptor, WRITE, most) {
        Ok(room) => {
            let done = unsafe { real!(write(c_int, From, usize) -> isize)(descriptor, from, room) };
            end_if_killed();
            done
        }
        Err(done) => done,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn opendir(path: Path) -> Into {
    let _inside = Inside::new();
    let ours = is_below(path);
    if fails(ours, OPEN) {
        return std::ptr::null_mut();
    }
    let stream = unsafe { real!(opendir(Path) -> Into)(path) };
    listed(ours, stream);
    stream
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdopendir(descriptor: c_int) -> Into {
    let _inside = Inside::new();
    let ours = is_ours(descriptor);
    if fails(ours, LOOK) {
        return std::ptr::null_mut();
    }
    let stream = unsafe { real!(fdopendir(c_int) -> Into)(descriptor) };
    listed(ours, stream);
    stream
}

/// Never fails: the standard library takes that for a defect of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closedir(stream: Into) -> c_int {
    let _inside = Inside::new();
    unlisted(stream);
    unsafe { real!(closedir(Into) -> c_int)(stream) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: Path, into: *mut c_char, room: usize) -> isize {
    let asked = unsafe { CStr::from_ptr(path) }.to_bytes();
    if let Some(asked) = asked.strip_prefix(b"/faults/").and_then(|rest| std::str::from_utf8(rest).ok()) {
        let Some(counts) = struck::arm(asked) else {
            set_error(EBADF);
            return -1;
        };
        let length = counts.len().min(room);
        unsafe { std::ptr::copy_nonoverlapping(counts.as_ptr(), into.cast(), length) };
        return length.cast_signed();
    }
    let _inside = Inside::new();
    if fails(is_below(path), LOOK) {
        return -1;
    }
    unsafe { real!(readlink(Path, *mut c_char, usize) -> isize)(path, into, room) }
}
