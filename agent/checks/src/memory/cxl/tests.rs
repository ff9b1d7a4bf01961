//! Lines in the kernel's formats, of several releases, whole and broken.

use proptest::prelude::*;

use super::*;
use crate::memory::ras::{self, RasEvent};

const HEAD: &str = "     kworker/3:1-77      [003] .....   512.304998: ";
const COMMON: &str = "memdev=mem0 host=0000:35:00.0 serial=81985529216486895 log=Warning : time=1795224292000000000 uuid=fbcd0a77-c260-417f-85a9-088b1621eba6 len=128 flags='MAINTENANCE_NEEDED' handle=1 related_handle=0 maint_op_class=2";
/// Since 6.13; the kernel before 6.7 has neither a host's address nor a sub-class.
const MEDIA: &str = "dpa=10000040 dpa_flags='VOLATILE' descriptor='UNCORRECTABLE_EVENT|THRESHOLD_EVENT' type='ECC Error' sub_type='Not Reported' transaction_type='Host Read' channel=1 rank=33 device=5 validity_flags='CHANNEL|RANK|DEVICE' comp_id=03 74 c5 08 9a 1a 0b fc d2 7e 2f 31 9b 3c 81 4d comp_id_pldm_valid_flags='' pldm_entity_id=0x00 pldm_resource_id=0x00 hpa=8010000040 region=region0 region_uuid=00000000-0000-0000-0000-000000000000 cme_threshold_ev_flags='' cme_count=0";
const OLD_DRAM: &str = "dpa=18680 dpa_flags='' descriptor='' type='Scrub Media ECC Error' transaction_type='Internal Media Scrub' channel=3 rank=17 nibble_mask=3b00b2 bank_group=7 bank=11 row=2 column=77 cor_mask=21 00 00 00 validity_flags='CHANNEL|ROW'";
const MODULE: &str = "event_type='Temperature Change' event_sub_type='Not Reported' health_status='MAINTENANCE_NEEDED|PERFORMANCE_DEGRADED' media_status='Normal' as_life_used=Normal as_dev_temp=Warning as_cor_vol_err_cnt=Normal as_cor_per_err_cnt=Normal life_used=4 device_temp=87 dirty_shutdown_cnt=0 cor_vol_err_cnt=0 cor_per_err_cnt=0 validity_flags='' comp_id=00 00";
const POISON: &str = "memdev=mem1 host=0000:c1:00.0 serial=7 trace_type=List region= region_uuid=00000000-0000-0000-0000-000000000000 hpa=0xffffffffffffffff dpa=0x40000000 dpa_length=0x40 source=Internal flags= overflow_time=0";

/// Lines of `mem0` at 0000:35:00.0: an error that lost data at that host's address, one that did not, the health.
pub(in crate::memory) fn lost() -> String {
    format!("{HEAD}cxl_general_media: {COMMON} maint_op_sub_class=0 : {MEDIA}")
}

pub(in crate::memory) fn corrected() -> String {
    format!("{HEAD}cxl_dram: {COMMON} : {OLD_DRAM}")
}

pub(in crate::memory) fn module(status: &str) -> String {
    let health = MODULE.replace("MAINTENANCE_NEEDED|PERFORMANCE_DEGRADED", status);
    format!("{HEAD}cxl_memory_module: {COMMON} maint_op_sub_class=0 : {health}")
}

pub(in crate::memory) fn poison() -> String {
    format!("{HEAD}cxl_poison: {POISON}")
}

fn event(line: &str) -> Option<CxlEvent> {
    match ras::parse(line)? {
        RasEvent::Cxl(event) => Some(event),
        other => panic!("{other:?}"),
    }
}

fn of_mem0(report: CxlReport) -> Option<CxlEvent> {
    Some(CxlEvent { memdev: "mem0".to_owned(), host: "0000:35:00.0".to_owned(), report })
}

#[test]
fn errors_of_the_media_are_read_of_old_kernels_and_new_ones() {
    let media = |is_uncorrectable, kind: &str, address, frame| {
        CxlReport::Media(MediaError { is_uncorrectable, kind: kind.to_owned(), address, frame })
    };
    assert_eq!(event(&lost()), of_mem0(media(true, "ECC Error", 0x1000_0040, Some(0x801_0000))));
    assert_eq!(event(&corrected()), of_mem0(media(false, "Scrub Media ECC Error", 0x18680, None)));
    let unmapped = lost().replace("hpa=8010000040", "hpa=ffffffffffffffff");
    assert_eq!(event(&unmapped), of_mem0(media(true, "ECC Error", 0x1000_0040, None)));
    // A type that this kernel has no word for.
    let Some(CxlEvent { report: CxlReport::Media(error), .. }) =
        event(&lost().replace("type='ECC Error'", "type='0x9'"))
    else {
        panic!("not read");
    };
    assert_eq!((error.kind.as_str(), error.is_loss()), ("0x9", false));
}

#[test]
fn only_what_the_memory_lost_is_a_loss() {
    for (descriptor, kind, expected) in [
        ("UNCORRECTABLE_EVENT", "ECC Error", true),
        ("UNCORRECTABLE_EVENT|POISON_LIST_OVERFLOW", "Scrub Media ECC Error", true),
        ("UNCORRECTABLE_EVENT", "Data Path Error", true),
        ("THRESHOLD_EVENT", "ECC Error", false),
        ("", "ECC Error", false),
        ("UNCORRECTABLE_EVENT", "Invalid Address", false),
        ("UNCORRECTABLE_EVENT", "TE State Violation", false),
    ] {
        let line = lost()
            .replace("UNCORRECTABLE_EVENT|THRESHOLD_EVENT", descriptor)
            .replace("type='ECC Error'", &format!("type='{kind}'"));
        let Some(CxlEvent { report: CxlReport::Media(error), .. }) = event(&line) else { panic!("{line}") };
        assert_eq!(error.is_loss(), expected, "{descriptor}: {kind}");
    }
}

#[test]
fn health_is_read_and_fails_where_the_device_wants_to_be_replaced() {
    let health = |line: &str| match event(line) {
        Some(CxlEvent { report: CxlReport::Health(health), .. }) => health,
        other => panic!("{other:?}"),
    };
    let warm = health(&module("MAINTENANCE_NEEDED|PERFORMANCE_DEGRADED"));
    assert_eq!((warm.change.as_str(), warm.is_failing()), ("Temperature Change", false));
    assert_eq!(warm.shown(), "maintenance needed, performance degraded; media normal, life normal");
    assert_eq!(health(&module("")).shown(), "no warning; media normal, life normal");
    for (from, to, expected) in [
        ("health_status=''", "health_status='REPLACEMENT_NEEDED'", true),
        ("health_status=''", "health_status='MAINTENANCE_NEEDED|MEM_CAPACITY_DEGRADED'", true),
        ("media_status='Normal'", "media_status='All Data Lost'", true),
        ("media_status='Normal'", "media_status='Not Ready'", false),
        ("as_life_used=Normal", "as_life_used=Critical", true),
        ("as_life_used=Normal", "as_life_used=Warning", false),
        ("as_dev_temp=Warning", "as_dev_temp=Critical", false),
    ] {
        assert_eq!(health(&module("").replace(from, to)).is_failing(), expected, "{to}");
    }
}

#[test]
fn the_list_of_lost_addresses_is_read_and_what_a_person_put_there_is_not() {
    let listed = event(&poison()).unwrap();
    assert_eq!((listed.host.as_str(), &listed.report), ("0000:c1:00.0", &CxlReport::Poison { address: 0x4000_0000 }));
    for by_hand in ["Inject", "Clear", ""] {
        assert_eq!(ras::parse(&poison().replace("=List", &format!("={by_hand}"))), None, "{by_hand}");
    }
}

#[test]
fn other_events_and_cut_lines_are_passed_over() {
    assert_eq!(ras::parse(&lost().replace("cxl_general_media", "cxl_generic_event")), None);
    for (line, needed) in [(lost(), "type='"), (corrected(), "type='"), (module(""), "as_life"), (poison(), "dpa=0x")] {
        let needed = line.find(needed).unwrap();
        assert!((0..=needed).all(|end| line.get(..end).and_then(ras::parse).is_none()), "{line}");
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in ".{0,200}", cut in 0_usize..700, with in any::<char>()) {
        for name in ["cxl_general_media", "cxl_dram", "cxl_memory_module", "cxl_poison"] {
            let _ = parse(name, &text);
        }
        for line in [lost(), corrected(), module("REPLACEMENT_NEEDED"), poison()] {
            let mut broken: String = line.chars().take(cut).collect();
            broken.push(with);
            broken.extend(line.chars().skip(cut + 1));
            let _ = ras::parse(&broken);
        }
    }
}
