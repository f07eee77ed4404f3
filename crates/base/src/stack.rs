//! Stack growth: recursion over nested values must not overflow the stack.

/// The minimum of free stack, in bytes. Values nest up to 1,500 deep, and dropping one takes up to 100
/// bytes per level without a check; some recursions check only every few levels.
const RED_ZONE: usize = 512 * 1024;

/// The size of a new stack segment, in bytes.
const SEGMENT: usize = 2 * 1024 * 1024;

/// Runs one level of a recursion, on a new segment of stack if little is free. Python threads can have a
/// stack of only 32 KiB. Not for calls of Python, which checks its own stack.
#[inline]
pub fn grow<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, level)
}
