//! The only unsafe code of nodewell, each piece behind a safe door: libsystemd's journal, memory locking, malloc.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod journal;
pub mod memory;
