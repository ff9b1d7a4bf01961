//! What sensors are called, in messages.

use super::*;
use crate::{
    bmc::{
        names::{self, NamedModule},
        sensor_record::tests::{ascii, record},
    },
    inventory::dmi::tests::{module, table},
};

/// The power supply 61h, the fan 41h, and the memory sensor 10h, which is called as a module is.
pub(super) fn repository() -> Vec<(u16, Vec<u8>)> {
    let named = |kind, number, name| record(kind, &[(7, number)], &ascii(name));
    vec![(1, named(1, 0x61, "PSU1 Status")), (2, named(2, 0x41, "FAN3A")), (7, named(3, 0x10, "DIMM_A1"))]
}

fn machine() -> Machine {
    let mut bmc = FakeBmc::new(&[ECC]);
    bmc.sdr = repository();
    let mut machine = Machine::new(bmc);
    assert!(machine.look().events.is_empty());
    machine
}

fn fault(findings: &Findings) -> &str {
    match findings.verdicts.iter().find(|verdict| verdict.subject == SUPPLY).map(|verdict| &verdict.state) {
        Some(State::Faulty(faults)) => &faults[0].message,
        other => panic!("{other:?}"),
    }
}

fn healthy(findings: &Findings) -> &str {
    match &findings.verdicts[0].state {
        State::Healthy { message } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_message_has_its_sensors_name() {
    let mut machine = machine();
    [FAILS, ECC, FAN_LOW, FAN_LOW_OVER].into_iter().for_each(|event| machine.bmc.add(event));
    let findings = machine.look();
    let messages: Vec<_> = findings.events.iter().map(|event| event.message.as_str()).collect();
    assert!(messages[0].starts_with("DIMM_A1: uncorrectable ECC error, by the BMC's log"), "{messages:?}");
    assert!(messages[1].starts_with("FAN3A: below its critical limit, and over by the next look"), "{messages:?}");
    assert_eq!(findings.events[0].subject.as_deref(), Some("memory sensor 0x10"));
    assert!(fault(&machine.look()).starts_with("PSU1 Status: it has failed, by the BMC's log"));
}

#[test]
fn a_sensor_without_a_name_is_called_by_what_it_watches() {
    let mut machine = Machine::with(&[FAILS, ECC]);
    assert!(machine.look().events[0].message.starts_with("memory: uncorrectable ECC error"));
    assert!(fault(&machine.look()).starts_with("power supply: it has failed"));
    assert_eq!(machine.bmc.asked.iter().filter(|number| **number == SDR_INFO).count(), 1, "it has no repository");
}

#[test]
fn names_outlive_a_restart_and_are_not_read_again() {
    let mut machine = machine();
    machine.restart();
    machine.bmc.asked.clear();
    machine.looks(121);
    let asked = |number| machine.bmc.asked.iter().filter(|asked| **asked == number).count();
    assert_eq!((asked(SDR_INFO), asked(SDR)), (3, 0), "once an hour it is asked whether they changed");
    machine.bmc.add(ECC);
    assert!(machine.look().events[0].message.starts_with("DIMM_A1: "));
    // A part was replaced: the same sensor has another name.
    machine.bmc.sdr[2].1 = record(3, &[(7, 0x10)], &ascii("DIMM_B7"));
    machine.bmc.sdr_changed += 1;
    machine.looks(60);
    machine.bmc.add(ECC);
    assert!(machine.look().events[0].message.starts_with("DIMM_B7: "));
}

#[test]
fn a_bmc_that_does_not_give_names_is_left_alone_and_that_is_shown() {
    let mut bmc = FakeBmc::new(&[ECC]);
    bmc.sdr = repository();
    let mut machine = Machine::new(bmc);
    (0..3).for_each(|_| machine.bmc.answers(SDR_INFO, &[0xff]));
    let findings = machine.looks(3);
    assert!(healthy(&findings).contains("not all known: the BMC refuses Get SDR Repository Info"), "{findings:?}");
    machine.bmc.asked.clear();
    machine.looks(56);
    assert!(!machine.bmc.asked.contains(&SDR_INFO));
    machine.bmc.add(ECC);
    assert_eq!(events(&machine.look()), ["BmcMemoryUncorrected"], "and its log is read all the same");
    let findings = machine.looks(2);
    assert!(!healthy(&findings).contains("known"), "{findings:?}");
    machine.bmc.add(ECC);
    assert!(machine.look().events[0].message.starts_with("DIMM_A1: "));
}

/// A node whose tables (SMBIOS) or driver (EDAC) name the module as the sensor is called.
fn message(locator: Option<&str>, label: Option<&str>) -> String {
    let sys = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = sys.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    if let Some(locator) = locator {
        write("firmware/dmi/tables/DMI", &table(&[module("DIMM_B1", 16384, "77AA"), module(locator, 16384, "77AB")]));
    }
    if let Some(label) = label {
        write("devices/system/edac/mc/mc0/mc_name", b"LAB\n");
        write("devices/system/edac/mc/mc0/dimm0/dimm_label", format!("{label}\n").as_bytes());
    }
    let mut machine = machine();
    machine.bmc.add(ECC);
    let question: Question = machine.judge.cursor().unwrap().parse().unwrap();
    let mut reading = ask(&mut machine.bmc, question, &Limits { entries: 256, is_over: &|| false }).unwrap();
    reading.modules = names::modules(sys.path(), &reading.records);
    let findings = machine.judged(RawReading::of(&reading).map_err(PollError::Read));
    findings.events[0].message.clone()
}

#[test]
fn a_module_that_is_called_as_its_sensor_is_named() {
    for (locator, label, expected) in [
        (Some("DIMM_A1"), None, "replace memory module DIMM_A1 (Samsung M393A, serial 77AB)"),
        (Some("dimm_a1"), Some("DIMM_A1"), "replace memory module dimm_a1 (Samsung M393A, serial 77AB)"),
        (None, Some("DIMM_A1"), "replace memory module DIMM_A1"),
        (Some("DIMM_C1"), Some("mc#0csrow#0channel#0"), "the BMC's web page names the module, replace it"),
        (None, None, "the BMC's web page names the module, replace it"),
    ] {
        let message = message(locator, label);
        assert!(message.starts_with("DIMM_A1: uncorrectable ECC error") && message.ends_with(expected), "{message}");
    }
}

#[test]
fn modules_are_looked_for_where_memory_is_meant() {
    let sys = tempfile::tempdir().unwrap();
    fs::create_dir_all(sys.path().join("firmware/dmi/tables")).unwrap();
    fs::write(sys.path().join("firmware/dmi/tables/DMI"), table(&[module("A1", 16384, "NO DIMM")])).unwrap();
    let records = |event| {
        let mut machine = machine();
        machine.bmc.add(event);
        let question: Question = machine.judge.cursor().unwrap().parse().unwrap();
        ask(&mut machine.bmc, question, &Limits { entries: 256, is_over: &|| false }).unwrap().records
    };
    assert_eq!(names::modules(sys.path(), &records(FAILS)), []);
    let modules = names::modules(sys.path(), &records(ECC));
    assert_eq!(NamedModule::called(&modules, "a1").map(ToString::to_string).as_deref(), Some("A1 (Samsung M393A)"));
    assert_eq!(NamedModule::called(&modules, "A2"), None);
}
