//! Processes under the real keeper, and what NativePower makes of ConfigMaps.
#![allow(clippy::unwrap_used)]

mod agents;
mod bench;
mod configured;
mod dumps;
mod fake;
mod keeper;
mod providers;
mod redfish;
