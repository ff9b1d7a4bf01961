//! Processes under the real supervisor, and what NativePower makes of ConfigMaps.
#![allow(clippy::unwrap_used)]

mod agents;
mod bench;
mod configured;
mod dumps;
mod errors;
mod fake;
mod half;
mod levels;
mod logins;
mod pins;
mod programs;
mod providers;
mod redfish;
mod reports;
mod storage;
mod supervisor;
mod wiring;
