//! Panics that real kernels printed, and lines that only look like one.

use super::*;

const LAB_PANIC: &str = include_str!("../../../../rules/tests/captures/qemu-panic-serial.txt");
const MACHINE_CHECK: &str = include_str!("../../../../rules/tests/captures/qemu-mce-fatal-panic-serial.txt");

#[test]
fn a_panic_of_a_module_names_cpu_task_module_and_kernel() {
    let panic = panic_of(LAB_PANIC.as_bytes()).unwrap();
    let expected = Panic {
        line: "Kernel panic - not syncing: lab panic".to_owned(),
        cause: None,
        cpu: Some(0),
        task: Some("sh".to_owned()),
        module: Some("labfault".to_owned()),
        kernel: Some("6.1.0-56-amd64".to_owned()),
        since_boot_secs: Some(3),
    };
    assert_eq!(panic, expected);
    assert_eq!(
        panic.to_string(),
        "Kernel panic - not syncing: lab panic (CPU 0, task sh, module labfault, kernel 6.1.0-56-amd64, 3 s after boot)"
    );
}

#[test]
fn a_fatal_machine_check_names_its_cpu_and_what_came_before() {
    let panic = panic_of(MACHINE_CHECK.as_bytes()).unwrap();
    assert_eq!((panic.line.as_str(), panic.cpu), ("Kernel panic - not syncing: Fatal machine check", Some(0)));
    let cause = panic.cause.unwrap();
    assert_eq!(cause, "mce: [Hardware Error]: CPU 0: Machine Check Exception: 4 Bank 4: be00000000800400");
}

/// As pstore has it: priorities, callers, and the oops that came first.
#[test]
fn the_oops_before_a_panic_is_its_cause() {
    let text = "\
<4>[   10.000000][  T812] BUG: old trouble, long over
<1>[  100.000001][    C3] BUG: kernel NULL pointer dereference, address: 0000000000000008
<4>[  100.000002][    C3] Oops: 0002 [#1] PREEMPT SMP NOPTI
<4>[  100.000003][    C3] CPU: 3 UID: 0 PID: 812 Comm: my task Kdump: loaded Not tainted 6.12.0-1-amd64 #1 Debian
<4>[  100.000004][    C3] RIP: 0010:bad_write+0x10/0x20 [baddriver 1234abcd]
<4>[  100.000005][    C3]  ? other+0x1/0x2 [innocent]
<0>[  100.500000][    C3] Kernel panic - not syncing: Fatal exception
";
    let panic = panic_of(text.as_bytes()).unwrap();
    assert_eq!(panic.cause.as_deref(), Some("BUG: kernel NULL pointer dereference, address: 0000000000000008"));
    assert_eq!((panic.cpu, panic.task.as_deref()), (Some(3), Some("my task")));
    assert_eq!((panic.module.as_deref(), panic.kernel.as_deref()), (Some("baddriver"), Some("6.12.0-1-amd64")));
    assert_eq!(panic.since_boot_secs, Some(100));
}

#[test]
fn what_user_space_wrote_into_the_log_is_no_panic() {
    for line in [
        "<12>[    1.0] Kernel panic - not syncing: forged",
        "<6>[    1.0] sh: Kernel panic - not syncing: quoted",
        "<0>[    1.0] ---[ end Kernel panic - not syncing: lab panic ]---",
    ] {
        assert_eq!(panic_of(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn a_cut_record_gives_what_it_has() {
    let panic = panic_of(b"ation failed\n<0>[    5.1] Kernel panic - not syncing: Attempted to kill in").unwrap();
    assert_eq!(panic.to_string(), "Kernel panic - not syncing: Attempted to kill in (5 s after boot)");
    assert_eq!(panic_of(b"<0>[    5.1] Kernel panic - not sy"), None);
}

#[test]
fn last_lines_are_the_kernels_and_few() {
    let text = b"<6>[ 1.0] one\n<14>[ 1.1] another program\n\n<4>[ 2.0] two\n<4>[ 3.0] three\n";
    assert_eq!(last_lines(text, 2), ["two", "three"]);
}
