//! Mutexes of the standard library without poisoning: the code that catches a panic drops the shared state.
//!
//! A process may fork while its threads hold locks. A lock of the standard library is a word of its own, so
//! the child can take each one that was free. Locks with a table of waiting threads for the whole process,
//! as those of `parking_lot`, are not safe there: a fork can catch the table half changed.

use std::sync::{MutexGuard, PoisonError, TryLockError};

/// A mutex without poisoning.
#[derive(Default, Debug)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Locks the mutex; waits for it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the mutex if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value, for an exclusive owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
