//! The harness of the whole-program tests: starts the real agent, plays the kernel log, and is the API server, as a
//! double or as the real one.

#![allow(clippy::unwrap_used)]

pub mod agent;
pub mod alertmanager;
pub mod ansible;
pub mod book;
pub mod boots;
pub mod cgroup;
pub mod check_process;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod containerd;
pub mod controller;
pub mod controller_hosts;
pub mod disk;
pub mod double;
pub mod etcd;
pub mod fencing;
pub mod fire;
pub mod fuse;
pub mod gpus;
pub mod http;
pub mod intruder;
pub mod journal;
pub mod kmsg;
pub mod kubelet;
pub mod leftovers;
pub mod loopback;
pub mod machine;
pub mod old_kernel;
pub mod openapi;
pub mod own_mounts;
pub mod pki;
pub mod plugins;
pub mod process;
pub mod prometheus;
pub mod real;
pub mod release;
pub mod root_disk;
pub mod runtime;
pub mod shell;
pub mod stand_in;
pub mod suite;
pub mod tally;
pub mod wait;
pub mod watch;
pub mod webhook;
pub mod wire;
