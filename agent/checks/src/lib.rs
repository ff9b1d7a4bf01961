//! Checks: what the logs of a node do not show. Devices, limits, mounts, clocks and networks are read by a worker and
//! judged in the check process ([`probe::Reader`], [`probe::Judge`]). [`CHECKS`] has them all.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bmc;
pub mod cgroup;
pub mod check;
pub mod clock;
pub mod cpu;
pub mod disk;
mod duration_text;
pub mod fabric;
pub mod fibre_channel;
#[doc(hidden)]
pub mod fuzzing;
pub mod gpu;
pub mod inventory;
pub mod limits;
pub mod memory;
pub mod mounts;
pub mod network;
pub mod pcie;
pub mod plugin;
pub mod pod_names;
pub mod probe;
pub mod repair;
pub mod sensors;
pub mod service;
pub mod slow_disks;
pub mod statistics;
pub mod systemd;

pub use check::{Check, WorkerGroup};

use nodewell_settings::Part;
use serde::{Deserialize, Serialize};

/// Every check, in the order in which a config has their tables.
pub static CHECKS: &[&Check] = &[
    &disk::CHECK,
    &slow_disks::CHECK,
    &memory::CHECK,
    &cpu::CHECK,
    &pcie::CHECK,
    &sensors::CHECK,
    &inventory::CHECK,
    &bmc::CHECK,
    &fabric::CHECK,
    &fibre_channel::CHECK,
    &gpu::CHECK,
    &limits::CHECK,
    &mounts::CHECK,
    &clock::CHECK,
    &network::CHECK,
];

/// The tables of [`CHECKS`] alone: a program that only reads what is set carries none of the readers and judges.
pub static TABLES: [fn() -> Part<Settings>; CHECKS.len()] = {
    let mut tables = [CHECKS[0].table; CHECKS.len()];
    let mut n = 0;
    while n < CHECKS.len() {
        tables[n] = CHECKS[n].table;
        n += 1;
    }
    tables
};

/// What an operator can set: a table for each check, and that of services.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub disk: disk::DiskSettings,
    pub slow_disks: slow_disks::SlowDisksSettings,
    pub memory: memory::MemorySettings,
    pub cpu: cpu::CpuSettings,
    pub pcie: pcie::PcieSettings,
    pub sensors: sensors::SensorsSettings,
    pub inventory: inventory::InventorySettings,
    pub bmc: bmc::BmcSettings,
    pub fabric: fabric::FabricSettings,
    pub fibre_channel: fibre_channel::FibreChannelSettings,
    pub gpu: gpu::GpuSettings,
    pub limits: limits::LimitsSettings,
    pub mounts: mounts::MountsSettings,
    pub clock: clock::ClockSettings,
    pub network: network::NetworkSettings,
    pub services: service::ServiceSettings,
}
