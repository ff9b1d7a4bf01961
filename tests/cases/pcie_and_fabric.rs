//! Error counters of PCI Express devices and of fabric ports become problems; a line of the kernel log about the same
//! error is the same problem. The machine is a tree of files like /sys.

use std::{fs, os::unix::fs::symlink, path::Path};

use nodewell_model::view::ProblemView;
use nodewell_tests::{
    agent::{Agent, Plan},
    check_process::CheckProcess,
    suite::Suite,
    wait::until,
};

use crate::statistics_metrics::count_in_the_guide;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("pcie-and-fabric")
        .case("one_error_in_counter_and_log_is_one_problem", one_error_in_counter_and_log_is_one_problem)
        .case("a_port_that_errs_is_named", a_port_that_errs_is_named)
        .case("what_drivers_count_is_a_metric_and_no_problem", what_drivers_count_is_a_metric_and_no_problem);
}

const CARD: &str = "0000:01:00.0";
const DEVICE: &str = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";
const ROOT_PORT: &str = "sys/devices/pci0000:00/0000:00:01.0";
const COUNTERS: &str = "sys/class/infiniband/mlx5_0/ports/1/counters";
const HW_COUNTERS: &str = "sys/class/infiniband/mlx5_0/ports/1/hw_counters";

/// A machine with one card below one root port, and a fabric's port on the card.
fn machine() -> Plan {
    let plan = Plan::default();
    fs::create_dir_all(plan.folder().join("sys/bus/pci/devices")).unwrap();
    for (device, class) in [(ROOT_PORT, "0x060400"), (DEVICE, "0x020700")] {
        let errors = [("aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0"), ("current_link_width", "16")];
        for (file, content) in [("vendor", "0x15b3"), ("device", "0x1021"), ("class", class)].iter().chain(&errors) {
            plan.file(&format!("{device}/{file}"), &format!("{content}\n"));
        }
        let device = plan.folder().join(device);
        symlink(&device, plan.folder().join("sys/bus/pci/devices").join(device.file_name().unwrap())).unwrap();
    }
    let port = [("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "400 Gb/sec (4X NDR)")];
    for (file, content) in port.into_iter().chain([("link_layer", "InfiniBand"), ("counters/symbol_error", "7")]) {
        plan.file(&format!("sys/class/infiniband/mlx5_0/ports/1/{file}"), &format!("{content}\n"));
    }
    symlink(plan.folder().join(DEVICE), plan.folder().join("sys/class/infiniband/mlx5_0/device")).unwrap();
    plan
}

/// Asks twice a second.
fn started(plan: &Plan) -> CheckProcess {
    let path = |name: &str| plan.folder().join(name);
    let (sys, proc) = (path("sys"), path("proc"));
    CheckProcess::of(plan, "check", &[("--sys", &sys), ("--proc", &proc), ("--interval", Path::new("500ms"))])
}

fn wait_counted(agent: &Agent, class: &str, total: u32) {
    until(&format!("{total} {class} are counted"), || {
        agent.view().hardware.iter().find(|one| one.class == class && one.total == total).map(|_| ())
    });
}

/// The only problem of a condition, once it is as `is` wants it.
fn problem(agent: &Agent, condition: &str, is: impl Fn(&ProblemView) -> bool) -> ProblemView {
    until(&format!("{condition} has its problem"), || {
        let mut problems = agent.condition(condition).filter(|found| found.status.as_str() == "True")?.problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.pop().filter(&is)
    })
}

fn one_error_in_counter_and_log_is_one_problem() {
    let agent = machine().start();
    let _check_process = started(agent.plan());
    wait_counted(&agent, "PCIe devices", 2);
    agent.plan().file(&format!("{DEVICE}/aer_dev_fatal"), "DLP 1\nTOTAL_ERR_FATAL 1\n");
    let counted = problem(&agent, "PcieUnhealthy", |_| true);
    assert_eq!((counted.reason.as_str(), counted.subject.as_deref()), ("PcieAerFatal", Some(CARD)));
    let line = "PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)";
    agent.plan().kmsg().write(&format!("mlx5_core {CARD}: {line}"));
    let both = problem(&agent, "PcieUnhealthy", |problem| problem.source.contains("kernel-monitor"));
    assert_eq!(both.id, counted.id);
}

fn a_port_that_errs_is_named() {
    let agent = machine().start();
    let _check_process = started(agent.plan());
    wait_counted(&agent, "fabric ports", 1);
    agent.plan().file(&format!("{COUNTERS}/symbol_error"), "207\n");
    let problem = problem(&agent, "NetworkUnhealthy", |_| true);
    assert_eq!((problem.reason.as_str(), problem.subject.as_deref()), ("FabricSymbolErrors", Some("mlx5_0/1")));
}

/// Until a page of metrics is as it `is`.
fn wait_page(agent: &Agent, what: &str, is: impl Fn(&str) -> bool) -> String {
    until(what, || Some(agent.metrics()).filter(|page| is(page)))
}

fn what_drivers_count_is_a_metric_and_no_problem() {
    let plan = machine();
    for (name, text) in [("out_of_sequence", "7\n"), ("rx_read_requests", "7\n"), ("np_cnp_sent", "-7\n")] {
        plan.file(&format!("{HW_COUNTERS}/{name}"), text);
    }
    let agent = plan.start();
    let _check_process = started(agent.plan());
    let series = "nodewell_fabric_hw_counter_total{device=\"mlx5_0\",port=\"1\",counter=\"out_of_sequence\"}";
    let page = wait_page(&agent, "the counter is shown", |page| page.contains(&format!("{series} 7\n")));
    assert!(!page.contains("rx_read_requests") && !page.contains("np_cnp_sent"), "{page}");
    count_in_the_guide(&page);

    agent.plan().file(&format!("{HW_COUNTERS}/out_of_sequence"), "7000000007\n");
    wait_page(&agent, "the counter grows", |page| page.contains(&format!("{series} 7000000007\n")));
    // The port is judged in the same round, and reported as well.
    agent.wait_condition("NetworkUnhealthy", "False");
    fs::remove_dir_all(agent.plan().folder().join(HW_COUNTERS)).unwrap();
    wait_page(&agent, "the counter is gone", |page| !page.contains("nodewell_fabric_"));
    let condition = agent.condition("NetworkUnhealthy").unwrap();
    assert!(condition.problems.is_empty(), "{condition:?}");
}
