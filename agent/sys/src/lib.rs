//! The only unsafe code of nodewell, each piece behind a safe door: libsystemd's journal, bus errors, memory, malloc,
//! contained children, socket activation, the process behind a socket, names that resolve, questions to disks, to
//! RAID and network cards and to the BMC, the kernel's clock, NVML where nvml-wrapper is not enough. And what procfs shows of
//! tasks and of mounts, which takes nothing unsafe; some of these ask it, too.
#![cfg_attr(test, allow(clippy::unwrap_used))]

// A static program can open no library, and a dynamic one of musl none that was built for glibc: such a build would
// find neither journal nor GPUs, and only where it runs. The controller opens none, and does not use this crate.
#[cfg(target_env = "musl")]
compile_error!(
    "nodewell's agent is not built for musl: it opens libsystemd (the journal) and NVIDIA's library (NVML) at run \
     time, which are built for glibc; build it for x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu \
     (docs/packages.md)"
);

pub mod activation;
pub mod bus_error;
pub mod contain;
pub mod dm;
pub mod ethtool;
pub mod ipmi;
pub mod journal;
pub mod megaraid;
pub mod memory;
pub mod names;
pub mod nvme;
pub mod nvml;
pub mod peer;
pub mod proc;
pub mod sg;
pub mod timex;
