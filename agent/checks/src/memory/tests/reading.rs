//! What the reader makes of trees.

use super::*;
use crate::memory::reading::{Controller, Errors};

fn controller(node: &Node) -> Controller {
    match node.reader().read("MC0").unwrap().parse().unwrap() {
        MemoryReading::Controller(controller) => controller,
        MemoryReading::Whole(_) => panic!("not a controller"),
    }
}

#[test]
fn modules_are_read_by_their_labels() {
    let node = Node::new();
    node.mc("dimm1/dimm_ce_count", 6).mc("dimm1/dimm_ue_count", 1);
    let modules = controller(&node).modules;
    assert_eq!(modules.len(), 2);
    assert_eq!(
        (modules[1].slot.as_str(), modules[1].label.as_str(), modules[1].megabytes),
        ("dimm1", DIMM, Some(16384))
    );
    assert_eq!(modules[1].errors, Errors { corrected: Some(6), uncorrected: Some(1) });
}

#[test]
fn ranks_are_modules_where_a_driver_knows_no_more() {
    let node = Node::without_edac();
    node.write("sys/devices/system/edac/mc/mc0/rank3/dimm_label", "mc#0csrow#1channel#1");
    node.mc("rank3/dimm_ce_count", 2);
    let read = controller(&node);
    assert_eq!(read.modules[0].slot, "rank3");
    assert_eq!(read.modules[0].errors, Errors { corrected: Some(2), uncorrected: None });
}

#[test]
fn without_modules_the_controllers_own_counts_stand_and_rows_are_not_added_up() {
    let node = Node::without_edac();
    node.mc("ce_count", 1).mc("ue_count", 5).mc("ce_noinfo_count", 2).mc("ue_noinfo_count", 6);
    node.mc("csrow0/ce_count", 3).mc("csrow0/ue_count", 4);
    let read = controller(&node);
    assert!(read.modules.is_empty());
    assert_eq!(read.unplaced, Errors { corrected: Some(1), uncorrected: Some(5) });
}

#[test]
fn a_node_without_edac_is_read_all_the_same() {
    let node = Node::without_edac();
    assert_eq!(node.reader().list().unwrap(), ["Memory"]);
    node.corrupted_kb(8);
    node.lost_pages(2);
    let MemoryReading::Whole(whole) = node.reader().read("Memory").unwrap().parse().unwrap() else {
        panic!("not the whole");
    };
    assert_eq!((whole.corrupted_kb, whole.lost_pages), (Some(8), Some(2)));
}

#[test]
fn what_vanished_is_gone() {
    let node = Node::new();
    let mut reader = node.reader();
    assert_eq!(reader.list().unwrap(), ["Memory", "MC0"]);
    fs::remove_dir_all(node.path("sys/devices/system/edac")).unwrap();
    for device in ["MC0", "MC77", "MC", "MC-1", "sda", ""] {
        assert!(matches!(reader.read(device), Err(ReadError::Gone { .. })), "{device}");
    }
}

#[test]
fn attributes_that_are_missing_or_garbage_are_left_out() {
    let node = Node::new();
    fs::remove_file(node.path("sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count")).unwrap();
    node.write("sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count", "\u{0}garbage");
    node.mc("dimm1/dimm_ce_count", u64::MAX);
    let modules = controller(&node).modules;
    assert_eq!(modules[0].errors, Errors::default());
    assert_eq!(modules[1].errors, Errors { corrected: None, uncorrected: Some(0) });
}

#[test]
fn trace_events_are_read_once() {
    let node = Node::new();
    node.trace("     kworker/0:2-118     [000] .....     9.288390: memory_failure_event: pfn 0x25af: recovery action for dirty LRU page: Recovered\nCPU:1 [LOST 3 EVENTS]\n     kworker/0:2-118     [000] .....     9.3: memory_fai");
    let mut reader = node.reader();
    let mut events = || match reader.read("Memory").unwrap().parse().unwrap() {
        MemoryReading::Whole(whole) => whole.events,
        MemoryReading::Controller(_) => panic!("not the whole"),
    };
    assert_eq!(events(), [ras::RasEvent::Page { frame: 0x25af }, ras::RasEvent::Lost { events: 3 }]);
    assert_eq!(events(), []);
    let enabled = fs::read_to_string(node.path("tracing/instances/nodewell/events/mce/mce_record/enable")).unwrap();
    assert_eq!(enabled, "1");
}

#[test]
fn events_of_a_driver_that_is_loaded_later_are_read_too() {
    let node = Node::new();
    node.trace("");
    let mut reader = node.reader();
    reader.read(WHOLE).unwrap();
    fs::create_dir_all(node.path("tracing/instances/nodewell/events/cxl/cxl_dram")).unwrap();
    reader.read(WHOLE).unwrap();
    let enabled = fs::read_to_string(node.path("tracing/instances/nodewell/events/cxl/cxl_dram/enable")).unwrap();
    assert_eq!(enabled, "1");
}
