//! Whole-program cases in virtual machines: a kernel meets real faults. A file for each behaviour; this one lists them.

#![allow(clippy::unwrap_used)]

mod block_errors;
mod bmc_log;
mod bmc_sensors;
mod board_sensors;
mod device_mapper;
mod disk_rights;
mod fabric_port;
mod hung_mount;
mod hung_task;
mod inventory;
mod killed_beside_stuck;
mod machine_checks;
mod many_disks;
mod memory_errors;
mod nvme_unplugged;
mod nvme_warning;
mod out_of_memory;
mod packed_modules;
mod pcie_errors;
mod plugin_limits;
mod raid_card;
mod sata_smart;
mod scsi_disk;
mod selinux;
mod slow_disks;
mod stuck_reader;

/// Each takes a processor of its own while it boots.
const AT_ONCE: usize = 2;

fn main() -> std::process::ExitCode {
    let mut suite = nodewell_tests::suite::Suite::default();
    let behaviours = [
        board_sensors::list,
        bmc_sensors::list,
        bmc_log::list,
        fabric_port::list,
        slow_disks::list,
        selinux::list,
        plugin_limits::list,
        killed_beside_stuck::list,
        block_errors::list,
        device_mapper::list,
        disk_rights::list,
        hung_mount::list,
        hung_task::list,
        inventory::list,
        machine_checks::list,
        many_disks::list,
        memory_errors::list,
        nvme_unplugged::list,
        nvme_warning::list,
        out_of_memory::list,
        packed_modules::list,
        pcie_errors::list,
        raid_card::list,
        sata_smart::list,
        scsi_disk::list,
        stuck_reader::list,
    ];
    behaviours.iter().for_each(|list| list(&mut suite));
    suite.run_at_once(AT_ONCE)
}
