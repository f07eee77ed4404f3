//! Stack growth for recursion over what an inventory holds.

/// The stack that must be left, in bytes. Values nest up to 1,500 deep, and dropping one takes less than
/// 100 bytes a level without asking; some recursions ask only every few levels.
const LEFT: usize = 512 * 1024;

/// The size of a new piece of stack, in bytes.
const PIECE: usize = 2 * 1024 * 1024;

/// Runs one level of a recursion, on a new piece of stack if little is left. Threads of Python may have a
/// stack of 32 KiB. Not for calls of Python, which watches its own stack.
#[inline]
pub fn grow<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEFT, PIECE, level)
}
