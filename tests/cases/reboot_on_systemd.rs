//! The installed package over the boots of one machine with a real systemd: powered off, powered off with a dead agent,
//! cut off from power, panicked. The journal of each boot is stored.

use jiff::Timestamp;
use nodewell_tests::{
    machine::{Disk, Machine, Package, Release},
    suite::{Need, Suite},
    wait::until,
};

pub(crate) fn list(suite: &mut Suite) {
    let needs = &[Need::LongSuite, Need::Machine(Release::Bookworm)];
    suite.behaviour("reboot_on_systemd").case_with(needs, "each_end_is_reported_for_what_it_was", each_end_is_reported);
}

/// A container has a boot id of its own, which a fresh /proc does not show; both directives make one. And the kernel log
/// is the outer machine's.
const DROP_IN: &str = "[Service]\nProtectKernelTunables=no\nProtectControlGroups=no\n";
const CONFIG: &str = "kmsg.path = \"/etc/nodewell/kmsg\"\n";

const PANIC: &str = include_str!("../../agent/rules/tests/captures/qemu-panic-serial.txt");

/// Boots and waits until the boot before was judged.
fn boot(disk: &Disk) -> Machine {
    let machine = Machine::boot_from(disk);
    wait_judged(&machine);
    machine
}

fn wait_judged(machine: &Machine) {
    let boot_id = machine.sh("tr -d - </proc/sys/kernel/random/boot_id");
    until("the agent notes that it runs in this boot", || {
        machine.sh("cat /var/lib/nodewell/boot-id 2>/dev/null || true").contains(&boot_id).then_some(())
    });
}

/// How often the journal of this boot has an Event of ours.
fn reported(machine: &Machine, reason: &str) -> u32 {
    machine
        .sh(&format!("journalctl --no-pager -b -o cat -u nodewell NODEWELL_REASON={reason} | grep -c .; true"))
        .parse()
        .unwrap()
}

fn quiet(machine: &Machine) {
    assert_eq!((reported(machine, "KernelPanic"), reported(machine, "UnexpectedReboot")), (0, 0));
}

fn install(disk: &Disk) -> Machine {
    let machine = Machine::boot_from(disk);
    machine.sh("mkdir -p /etc/nodewell/nodewell.toml.d /etc/systemd/system/nodewell.service.d; : >/etc/nodewell/kmsg");
    machine.write("/etc/nodewell/nodewell.toml.d/test.toml", CONFIG);
    machine.write("/etc/systemd/system/nodewell.service.d/test.conf", DROP_IN);
    machine.install(Package::built());
    wait_judged(&machine);
    machine
}

fn each_end_is_reported() {
    let disk = Disk::of(Release::Bookworm);
    install(&disk).power_off();

    let machine = boot(&disk);
    quiet(&machine);
    // systemd does not stop the agent in this shutdown: the journal knows better than its note.
    machine.sh("systemctl mask --runtime nodewell && systemctl kill --signal=KILL nodewell");
    machine.wait_property("nodewell.service", "MainPID", "0");
    machine.power_off();

    let machine = boot(&disk);
    quiet(&machine);
    // Its power goes.
    drop(machine);

    let machine = boot(&disk);
    let reboot = until("the loss of power is reported", || machine.events("UnexpectedReboot").pop());
    assert!(reboot.message.contains("(the journal's last entry)"), "{reboot:?}");
    drop(machine);

    let now = Timestamp::now().as_second();
    let record = format!("dmesg-efi-{now}01001:\nPanic#1 Part1\n{PANIC}");
    disk.write(&format!("/var/lib/systemd/pstore/{now}/001/dmesg.txt"), &record);
    let machine = boot(&disk);
    let panic = until("the panic is reported", || machine.events("KernelPanic").pop());
    assert!(panic.message.contains("not syncing: lab panic (CPU 0, task sh, module labfault"), "{panic:?}");
    machine.sh("systemctl restart nodewell");
    wait_judged(&machine);
    assert_eq!((reported(&machine, "KernelPanic"), reported(&machine, "UnexpectedReboot")), (1, 1));
    machine.power_off();
    quiet(&boot(&disk));
}
