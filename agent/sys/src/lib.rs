//! The only unsafe code of nodewell, each piece behind a safe door: libsystemd's journal, bus errors, memory, malloc,
//! descriptors that systemd hands over, the process behind a socket, questions to disks,
//! NVML where nvml-wrapper is not enough.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bus_error;
pub mod dm;
pub mod handed;
pub mod journal;
pub mod memory;
pub mod nvme;
pub mod nvml;
pub mod peer;
pub mod sg;
