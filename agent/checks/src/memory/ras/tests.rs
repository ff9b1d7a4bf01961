//! Lines of `trace_pipe`, whole and broken.

use proptest::prelude::*;

use super::*;

const CORRECTED: &str = "     kworker/0:2-118     [000] .....     5.304998: mc_event: 1 Corrected error: memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#1 (mc:0 location:0:1:-1 address:0x12345040 grain:64 syndrome:0x0000001a err_code:0x0101:0x0090)";
const CHECK: &str = "          <idle>-0       [000] dN.1.     9.268154: mce_record: CPU: 0, MCGc/s: 900010a/7, MC1: bd80000000000134, IPID: 0000000000000000, ADDR/MISC/SYND: 00000000025af000/000000000000008c/0000000000000000, RIP: 33:<0000000000402982>, TSC: 467092b18, PROCESSOR: 0:306c1, TIME: 1795224292, SOCKET: 0, APIC: 0";
const NEWER_CHECK: &str = "          <idle>-0       [002] dN.1.     9.268154: mce_record: CPU: 2, MCGc/s: 11c/0, MC17: dc2040000000011b, IPID: 0000009600050f00, ADDR: 0000000012345040, MISC: 0000000000000000, SYND: 000000005d000000, RIP: 00:<0000000000000000>, TSC: 0, PPIN: 0, vendor: 2, CPUID: 830f10, time: 1795224292, socket: 0, APIC: 4, microcode: 8301055";
const PAGE: &str = "     kworker/0:2-118     [000] .....     9.288390: memory_failure_event: pfn 0x25af: recovery action for dirty LRU page: Recovered";

#[test]
fn an_edac_event_names_the_module() {
    let label = "CPU_SrcID#0_MC#0_Chan#0_DIMM#1".to_owned();
    let expected = MemoryEvent { corrected: true, label, what: "memory read error".to_owned(), address: 0x1234_5040 };
    assert_eq!(parse(CORRECTED), Some(RasEvent::Memory(expected)));
}

#[test]
fn an_error_without_words_and_several_at_once_are_read() {
    let line = CORRECTED.replace("1 Corrected error: memory read error on", "3 Uncorrected errors: on");
    let Some(RasEvent::Memory(event)) = parse(&line) else { panic!("{line}") };
    assert_eq!((event.corrected, event.what.as_str()), (false, ""));
}

#[test]
fn machine_checks_of_old_and_new_kernels_are_read() {
    let old = MachineCheck { cpu: 0, bank: 1, status: 0xbd80_0000_0000_0134, ipid: 0, address: 0x25a_f000 };
    assert_eq!(parse(CHECK), Some(RasEvent::MachineCheck(old.clone())));
    assert_eq!((old.is_uncorrected(), old.is_of_memory(), old.frame()), (true, false, Some(0x25af)));
    let Some(RasEvent::MachineCheck(new)) = parse(NEWER_CHECK) else { panic!("not read") };
    assert_eq!((new.cpu, new.bank, new.address), (2, 17, 0x1234_5040));
    assert_eq!((new.is_uncorrected(), new.is_of_memory()), (false, true));
}

#[test]
fn the_codes_of_memory_controllers_are_known() {
    for (status, of_memory) in [
        (0x8c00_0040_0001_0093, true),
        (0x8c00_004e_0008_00c1, true),
        (0x9c00_0040_0001_009f, true),
        (0xbe00_0000_0080_0400, false),
        (0x9400_0040_0004_0150, false),
        (0xbd80_0000_0010_0134, false),
    ] {
        let check = MachineCheck { cpu: 0, bank: 0, status, ipid: 0, address: 0 };
        assert_eq!(check.is_of_memory(), of_memory, "{status:#x}");
    }
}

#[test]
fn a_page_that_failed_is_read() {
    assert_eq!(parse(PAGE), Some(RasEvent::Page { frame: 0x25af }));
}

#[test]
fn lost_events_are_counted() {
    assert_eq!(parse("CPU:3 [LOST 17 EVENTS]"), Some(RasEvent::Lost { events: 17 }));
    assert_eq!(parse("CPU:3 [LOST EVENTS]"), None);
}

#[test]
fn a_task_cannot_name_itself_an_event() {
    let line = PAGE.replace("     kworker/0:2", ": mc_event: 1 Co");
    assert_eq!(parse(&line), Some(RasEvent::Page { frame: 0x25af }));
    assert_eq!(parse(&line[1..]), None);
}

#[test]
fn other_events_and_cut_lines_are_passed_over() {
    for line in [CORRECTED, CHECK, NEWER_CHECK, PAGE] {
        // Up to where the last of the figures that are needed begins.
        let needed = line.find("address:0x").or(line.find("ADDR")).or(line.find("pfn 0x")).unwrap();
        for end in 0..needed {
            assert_eq!(line.get(..end).and_then(parse), None, "{end}");
        }
    }
    assert_eq!(parse(&PAGE.replace("memory_failure_event", "sched_switch")), None);
}

#[test]
fn the_fuzzers_corpus_is_harmless() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus/ras");
    let mut files = 0;
    for file in corpus.read_dir().unwrap() {
        let text = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        text.lines().for_each(|line| drop(parse(line)));
        let _ = (crate::memory::pages::corrupted_kb(&text), crate::cpu::microcode::revisions(&text));
        let _ = crate::cpu::list::CpuSet::parse(&text);
        files += 1;
    }
    assert!(files > 5);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in ".{0,200}", cut in 0usize..300, with in any::<char>()) {
        let _ = parse(&text);
        for line in [CORRECTED, CHECK, NEWER_CHECK, PAGE] {
            let mut broken: String = line.chars().take(cut).collect();
            broken.push(with);
            broken.extend(line.chars().skip(cut + 1));
            let _ = parse(&broken);
        }
    }
}
