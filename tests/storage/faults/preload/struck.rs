//! Which operation is struck, and how: the state that all functions of the library share.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicUsize, Ordering::Relaxed};

/// What an operation is, so that only what can happen to it is done to it.
pub const OPEN: u8 = 1;
/// Bytes are read.
pub const READ: u8 = 2;
/// Bytes are written.
pub const WRITE: u8 = 4;
/// Something comes to be, or to be kept, and may find no room.
pub const MAKE: u8 = 8;
/// A descriptor is given back.
pub const CLOSE: u8 = 16;
/// Something is looked at, or taken away.
pub const LOOK: u8 = 32;

/// Reads and writes do half of what they could.
pub const SHORT: i32 = -1;
/// Reads say that the file has ended.
pub const ENDED: i32 = -2;
/// The process is killed.
pub const KILLED: i32 = -3;

/// Which operation fails; 0 for none.
static AT: AtomicUsize = AtomicUsize::new(0);
static ERROR: AtomicI32 = AtomicI32::new(0);
/// What kinds of operations fail.
static KINDS: AtomicU8 = AtomicU8::new(0);
/// Whether all from that one on fail.
static LASTING: AtomicBool = AtomicBool::new(false);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static STRUCK: AtomicUsize = AtomicUsize::new(0);
/// Whether the process is to be killed now.
static DYING: AtomicBool = AtomicBool::new(false);

/// The descriptors of files below the folder.
static FILES: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
/// Those that are no files on a disk: no read of them ends before their end.
static WHOLE: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
/// The streams of folders below it.
static FOLDERS: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

unsafe extern "C" {
    pub fn dlsym(library: *const c_void, name: *const c_char) -> *mut c_void;
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
    fn getpid() -> c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

#[cfg(target_arch = "x86_64")]
const FACCESSAT: c_long = 269;
#[cfg(target_arch = "aarch64")]
const FACCESSAT: c_long = 48;

/// The function of the C library.
macro_rules! real {
    ($name:ident ( $($type:ty),* ) -> $result:ty) => {{
        let name = concat!(stringify!($name), "\0");
        let next = usize::MAX as *const std::ffi::c_void;
        let found = $crate::struck::dlsym(next, name.as_ptr().cast());
        std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $result>(found)
    }};
}
pub(crate) use real;

/// If `FAULTS_TRACE` is set, a system call marks where a function of the library begins and ends: a trace
/// of the process then shows which calls come from elsewhere.
fn mark(path: &CStr) {
    unsafe {
        if !getenv(c"FAULTS_TRACE".as_ptr()).is_null() {
            let next = real!(syscall(c_long, c_long, *const c_char, c_long) -> c_long);
            let before = *__errno_location();
            next(FACCESSAT, -100, path.as_ptr(), 0);
            *__errno_location() = before;
        }
    }
}

/// While a function of the library is at work.
pub struct Inside(bool);

impl Inside {
    pub fn new() -> Inside {
        let armed = AT.load(Relaxed) != 0;
        if armed {
            mark(c"/faults/in");
        }
        Inside(armed)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0 {
            mark(c"/faults/out");
        }
    }
}

pub fn is_armed() -> bool {
    AT.load(Relaxed) != 0
}

/// Sets what fails from now on, by `AT/ERROR/KINDS/LASTING`. Returns the number of operations since the
/// last time, and the number of those struck.
pub fn arm(asked: &str) -> Option<String> {
    let mut numbers = asked.split('/').map(|number| number.parse::<i32>().ok());
    let (at, error, kinds, lasting) = (numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??);
    let counts = format!("{}/{}", SEEN.swap(0, Relaxed), STRUCK.swap(0, Relaxed));
    ERROR.store(error, Relaxed);
    KINDS.store(u8::try_from(kinds).ok()?, Relaxed);
    LASTING.store(lasting != 0, Relaxed);
    AT.store(usize::try_from(at).ok()?, Relaxed);
    mark(if at == 0 { c"/faults/disarmed" } else { c"/faults/armed" });
    Some(counts)
}

pub fn is_below(path: *const c_char) -> bool {
    if path.is_null() || !is_armed() {
        return false;
    }
    let (path, folder) = unsafe { (CStr::from_ptr(path), getenv(c"FAULTS_BELOW".as_ptr())) };
    !folder.is_null() && path.to_bytes().starts_with(unsafe { CStr::from_ptr(folder) }.to_bytes())
}

fn file(descriptor: c_int) -> Option<&'static AtomicBool> {
    FILES.get(usize::try_from(descriptor).ok()?)
}

pub fn is_ours(descriptor: c_int) -> bool {
    is_armed() && file(descriptor).is_some_and(|file| file.load(Relaxed))
}

/// Whether a path, which may be relative to an open folder or empty for itself, is below the folder.
pub fn is_at(folder: c_int, path: *const c_char) -> bool {
    let relative = path.is_null() || unsafe { *path } != b'/'.cast_signed();
    if relative { folder > 0 && is_ours(folder) } else { is_below(path) }
}

/// Takes note of a file that was opened.
pub fn opened(ours: bool, descriptor: c_int) -> c_int {
    if descriptor >= 0 && let Some(file) = file(descriptor) {
        file.store(ours, Relaxed);
    }
    descriptor
}

/// Records a descriptor that reports changes, or one of a file in memory.
pub fn opened_whole(descriptor: c_int) -> c_int {
    if let Some(whole) = usize::try_from(descriptor).ok().and_then(|at| WHOLE.get(at)) {
        whole.store(true, Relaxed);
    }
    opened(true, descriptor)
}

/// Takes note of a file that is closed now; whether it was one below the folder.
pub fn closed(descriptor: c_int) -> bool {
    if let Some(whole) = usize::try_from(descriptor).ok().and_then(|at| WHOLE.get(at)) {
        whole.store(false, Relaxed);
    }
    is_armed() & file(descriptor).is_some_and(|file| file.swap(false, Relaxed))
}

/// Takes note of a folder whose entries are read one by one.
pub fn listed(ours: bool, stream: *mut c_void) {
    if ours && !stream.is_null() {
        let free = FOLDERS.iter().find(|known| {
            known.compare_exchange(0, stream as usize, Relaxed, Relaxed).is_ok()
        });
        free.expect("fewer folders are open");
    }
}

pub fn is_listed(stream: *mut c_void) -> bool {
    is_armed() && FOLDERS.iter().any(|known| known.load(Relaxed) == stream as usize)
}

pub fn unlisted(stream: *mut c_void) {
    if let Some(known) = FOLDERS.iter().find(|known| known.load(Relaxed) == stream as usize) {
        known.store(0, Relaxed);
    }
}

/// Counts an operation; what is to be done to it.
pub fn strikes(ours: bool, kinds: u8) -> Option<i32> {
    if !ours || kinds & KINDS.load(Relaxed) == 0 {
        return None;
    }
    let (at, seen) = (AT.load(Relaxed), SEEN.fetch_add(1, Relaxed) + 1);
    if seen != at && !(seen > at && LASTING.load(Relaxed)) {
        return None;
    }
    STRUCK.fetch_add(1, Relaxed);
    let error = ERROR.load(Relaxed);
    DYING.store(error == KILLED, Relaxed);
    Some(error)
}

/// Ends the process as the kernel ends one, if it is to be.
pub fn end_if_killed() {
    const SIGKILL: c_int = 9;
    if DYING.load(Relaxed) {
        unsafe { kill(getpid(), SIGKILL) };
    }
}

/// Whether a read of this one can come to the end that it is to come to.
pub fn can_end(descriptor: c_int) -> bool {
    let whole = usize::try_from(descriptor).ok().and_then(|at| WHOLE.get(at));
    ERROR.load(Relaxed) != ENDED || !whole.is_some_and(|whole| whole.load(Relaxed))
}

/// Counts an operation that fails or does not; whether it is to fail, with its error number set.
pub fn fails(ours: bool, kinds: u8) -> bool {
    match strikes(ours, kinds) {
        Some(error) => {
            end_if_killed();
            set_error(error)
        }
        None => false,
    }
}

/// Sets the error number.
pub fn set_error(error: i32) -> bool {
    unsafe { *__errno_location() = error };
    true
}
