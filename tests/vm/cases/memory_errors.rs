//! EDAC counts errors of a memory module, and prints a line for each: what the agent reads in the kernel's log and what
//! its check process reads in sysfs is one problem of the module, by its label.

use nodewell_model::view::ProblemView;
use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST, MODULE,
    guest::{Guest, Plan},
    module::FAULTY_MEMORY,
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("memory_errors")
        .case_with(&[Need::LongSuite, GUEST, MODULE], "corrected_ones_fill_a_bucket", corrected_ones_fill_a_bucket)
        .case_with(&[Need::LongSuite, GUEST, MODULE], "an_uncorrected_one_is_reported", an_uncorrected_one_is_reported);
}

const CONFIG: &str = "check-processes = \"spawn\"\n[memory]\ninterval = \"10s\"\n";
/// The sources that report.
const KERNEL_LOG: &str = "kernel-monitor";
const CHECK_PROCESS: &str = "check@root";
/// As many as the bucket holds: one more is a problem (`corrected-per-day`).
const HELD: u32 = 9;

fn boot() -> Guest {
    let guest = Plan::default().boot();
    guest.load(FAULTY_MEMORY);
    guest.start_agent(CONFIG);
    guest.wait_hardware("memory modules", |modules| (modules.total, modules.healthy) == (2, 2));
    guest
}

/// The driver's modules are DIMM_A1 and DIMM_B1.
fn report(guest: &Guest, kind: &str, module: u32) {
    guest.sh(&format!("echo {module} >/sys/module/{FAULTY_MEMORY}/parameters/{kind}"));
}

fn corrected_ones_fill_a_bucket() {
    let guest = boot();
    (0..HELD).for_each(|_| report(&guest, "corrected", 0));
    let event = guest.wait_event("MemoryCorrectedError", |_| true);
    assert_eq!(event.subject.as_deref(), Some("DIMM_A1"), "{event:?}");
    guest.until("the check process has counted them", || {
        let saved = guest.run("cat $(find /var/lib/nodewell/hardware -name memory.json)").stdout;
        saved.contains(&format!("\"corrected\":{HELD}")).then_some(())
    });
    assert_eq!(guest.condition("MemoryUnhealthy").unwrap().status.as_str(), "False");
    report(&guest, "corrected", 0);
    assert_one(&guest, "MemoryCorrectedError", "DIMM_A1");
}

fn an_uncorrected_one_is_reported() {
    let guest = boot();
    report(&guest, "uncorrected", 1);
    assert_one(&guest, "MemoryUncorrectedError", "DIMM_B1");
    assert_eq!(guest.sh("cat /sys/devices/system/edac/mc/mc0/dimm1/dimm_ue_count"), "1");
}

/// Waits until both, the kernel's log and the counter, hold the condition, and finds a single problem.
fn assert_one(guest: &Guest, reason: &str, module: &str) {
    let problems = guest.until("both report it", || {
        let problems = guest.condition("MemoryUnhealthy")?.problems;
        problems.iter().any(is_reported_twice).then_some(problems)
    });
    let [problem] = &problems[..] else { panic!("not one problem: {problems:?}") };
    assert_eq!((problem.reason.as_str(), problem.subject.as_deref()), (reason, Some(module)), "{problem:?}");
}

fn is_reported_twice(problem: &ProblemView) -> bool {
    let sources: Vec<&str> = problem.source.split(", ").collect();
    sources.contains(&KERNEL_LOG) && sources.contains(&CHECK_PROCESS)
}
