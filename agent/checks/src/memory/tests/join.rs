//! One fault that is reported in several ways is one problem.

use super::*;

const PAGE: &str = "     kworker/0:2-118     [000] .....     9.288390: memory_failure_event: pfn 0x12345: recovery action for dirty LRU page: Recovered";
const POISON: &str = "          <idle>-0       [000] dN.1.     9.268154: mce_record: CPU: 3, MCGc/s: 900010a/7, MC1: bd80000000000134, IPID: 0000000000000000, ADDR/MISC/SYND: 0000000012345000/000000000000008c/0000000000000000, RIP: 33:<0000000000402982>, TSC: 467092b18, PROCESSOR: 0:306c1, TIME: 1795224292, SOCKET: 0, APIC: 0";
const UNCORRECTED: &str = "     kworker/0:2-118     [000] .....     5.304998: mc_event: 1 Uncorrected error: memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#1 (mc:0 location:0:1:-1 address:0x12345040 grain:64 syndrome:0x00000000 lab)";

/// Each way in which the kernel's log may have blamed CPU 3.
const MESSENGER: [(&str, &str); 3] =
    [("CpuUnhealthy", "CPU 3"), ("MemoryUnhealthy", "CPU 3"), ("CpuUnhealthy", "CPU:3")];

fn recoveries(findings: &Findings) -> Vec<(&str, &str)> {
    findings.recoveries.iter().map(|recovery| (recovery.condition.as_str(), recovery.subject.as_str())).collect()
}

#[test]
fn a_page_that_no_module_answers_for_is_the_nodes_problem() {
    let mut node = Node::new();
    node.look();
    node.lost_pages(1);
    node.corrupted_kb(4);
    let findings = node.look();
    assert_eq!(reasons(&findings, "Memory"), ["MemoryUncorrectedError"]);
    assert_eq!(recoveries(&findings), []);
    assert_eq!(findings.events, []);
    node.pass(30 * 24 * 3600);
    assert_eq!(reasons(&node.look(), "Memory"), ["MemoryUncorrectedError"]);
    node.lost_pages(0);
    node.corrupted_kb(0);
    node.reboot(60);
    assert_eq!(reasons(&node.look(), "Memory"), ["healthy"]);
}

#[test]
fn a_module_that_lost_data_answers_for_the_page_whichever_is_seen_first() {
    for module_first in [true, false] {
        let mut node = Node::new();
        node.look();
        for module in [module_first, !module_first] {
            match module {
                true => drop(node.mc("dimm1/dimm_ue_count", 1)),
                false => node.lost_pages(1),
            }
            node.look();
        }
        let findings = node.look();
        assert_eq!(reasons(&findings, DIMM), ["MemoryUncorrectedError"]);
        assert_eq!(reasons(&findings, "Memory"), ["healthy"]);
        assert_eq!(recoveries(&findings), [("MemoryUnhealthy", "Memory")]);
        assert!(findings.recoveries[0].evidence.contains(DIMM));
        assert_eq!(findings.recoveries[0].seen_before, node.now.wall);
        node.pass(3600);
        assert_eq!(recoveries(&node.look()), [], "later ones are none of it");
    }
}

#[test]
fn a_page_of_another_time_stays_a_problem_of_its_own() {
    let mut node = Node::new();
    node.look();
    node.lost_pages(1);
    node.look();
    node.pass(3600);
    node.look();
    node.mc("dimm1/dimm_ue_count", 1);
    node.lost_pages(2);
    let findings = node.look();
    assert_eq!(reasons(&findings, "Memory"), ["MemoryUncorrectedError"]);
    assert_eq!(recoveries(&findings), []);
}

#[test]
fn kernels_that_do_not_count_lost_pages_leave_the_verdict_to_their_log() {
    let mut node = Node::new();
    fs::remove_dir_all(node.path("sys/devices/system/node")).unwrap();
    node.look();
    node.corrupted_kb(4);
    let findings = node.look();
    assert_eq!(reasons(&findings, "Memory"), ["healthy"]);
    assert_eq!(findings.events[0].reason.as_str(), "MemoryPagesRetired");
    assert_eq!(findings.events[0].subject.as_deref(), Some("Memory"));
    node.mc("dimm1/dimm_ue_count", 1);
    assert_eq!(recoveries(&node.look()), [("MemoryUnhealthy", "Memory")]);
}

#[test]
fn pages_that_were_given_up_in_time_are_an_event() {
    let mut node = Node::new();
    node.corrupted_kb(4);
    assert_eq!(node.look().events, [], "they were before our time");
    node.corrupted_kb(12);
    let findings = node.look();
    assert_eq!(findings.events.len(), 1);
    assert!(findings.events[0].message.contains("8 kB"));
    assert_eq!(reasons(&findings, "Memory"), ["healthy"]);
}

#[test]
fn a_page_that_failed_was_not_given_up_in_time() {
    let mut node = Node::new();
    fs::remove_dir_all(node.path("sys/devices/system/node")).unwrap();
    node.look();
    node.trace(PAGE);
    node.corrupted_kb(4);
    assert_eq!(node.look().events, []);
}

#[test]
fn a_cpu_that_was_a_messenger_once_is_so_again() {
    let mut node = Node::without_edac();
    node.look();
    node.trace(&format!("{POISON}\n{PAGE}"));
    assert_eq!(recoveries(&node.look()), MESSENGER);
    node.trace("");
    node.pass(1800);
    assert_eq!(recoveries(&node.look()), [], "it is over");
    node.trace(&format!("{POISON}\n{PAGE}"));
    assert_eq!(recoveries(&node.look()), MESSENGER);
}

#[test]
fn an_error_that_nothing_explains_is_held_against_the_cpu_until_the_next_boot() {
    let mut node = Node::new();
    node.look();
    node.trace(POISON);
    node.look();
    node.trace("");
    node.pass(1800);
    node.look();
    node.trace(&format!("{POISON}\n{PAGE}"));
    assert_eq!(recoveries(&node.look()), []);
    node.reboot(60);
    assert_eq!(recoveries(&node.look()), MESSENGER);
}

#[test]
fn memory_that_is_unplugged_takes_its_counts_along() {
    let mut node = Node::new();
    node.lost_pages(7);
    node.corrupted_kb(28);
    let before = node.look();
    node.lost_pages(3);
    node.corrupted_kb(12);
    let findings = node.look();
    assert_eq!(findings.events, []);
    let message = |findings: &Findings| format!("{:?}", state(findings, "Memory"));
    assert_eq!(message(&findings), message(&before));
}

#[test]
fn a_machine_check_on_a_page_that_failed_is_not_the_cpus_fault() {
    let mut node = Node::without_edac();
    node.look();
    node.trace(&format!("{POISON}\n{PAGE}"));
    node.lost_pages(1);
    let findings = node.look();
    assert_eq!(reasons(&findings, "Memory"), ["MemoryUncorrectedError"]);
    assert_eq!(recoveries(&findings), MESSENGER);
    let reasons: Vec<_> =
        findings.recoveries.iter().map(|recovery| recovery.reason.as_ref().unwrap().as_str()).collect();
    assert_eq!(reasons, ["MachineCheckUncorrected", "MemoryUncorrectedError", "MachineCheckUncorrected"]);
}

#[test]
fn edac_answers_for_a_machine_check_too_and_reports_where_it_was() {
    let mut node = Node::new();
    node.look();
    node.trace(&format!("{POISON}\n{UNCORRECTED}"));
    node.mc("dimm1/dimm_ue_count", 1);
    let findings = node.look();
    assert_eq!(recoveries(&findings), MESSENGER, "no page was taken out of use");
    let Some(State::Faulty(faults)) = state(&findings, DIMM) else { panic!("{findings:?}") };
    assert_eq!(
        faults[0].message,
        "uncorrected errors in this boot: 1, the last a memory read error at 0x12345040; drain the node and \
         replace the module"
    );
}

#[test]
fn a_machine_check_of_the_cpu_itself_stays_its_fault() {
    let own = POISON.replace("bd80000000000134", "be00000000800400").replace("12345000", "99999000");
    for lines in [own.clone(), format!("{own}\n{POISON}\n{PAGE}")] {
        let mut node = Node::new();
        node.look();
        node.trace(&lines);
        node.mc("dimm1/dimm_ue_count", 1);
        let findings = node.look();
        assert!(recoveries(&findings).iter().all(|(condition, _)| *condition != "CpuUnhealthy"), "{findings:?}");
    }
}

#[test]
fn a_memory_controllers_machine_check_is_explained_by_the_module_that_lost_data() {
    for status in ["fd80004000010090", "bc2040000000011b"] {
        let line =
            POISON.replace("bd80000000000134", status).replace("IPID: 0000000000000000", "IPID: 0000009600050f00");
        let mut node = Node::new();
        node.look();
        node.trace(&line.replace("12345000", "00777000"));
        node.mc("dimm1/dimm_ue_count", 1);
        assert_eq!(recoveries(&node.look()), MESSENGER, "{status}");
    }
}

#[test]
fn without_a_driver_the_corrected_machine_checks_of_memory_are_counted() {
    let corrected = POISON.replace("bd80000000000134", "8c00004000010090");
    let ten = vec![corrected.clone(); 10].join("\n");
    let mut node = Node::without_edac();
    node.look();
    node.trace(&ten);
    assert_eq!(reasons(&node.look(), "Memory"), ["MemoryCorrectedError"]);

    let mut node = Node::new();
    node.look();
    node.trace(&ten);
    assert_eq!(reasons(&node.look(), "Memory"), ["healthy"], "the driver counts them for the module");
}
