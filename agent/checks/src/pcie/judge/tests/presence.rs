use super::*;
use crate::{
    pcie::{reader::tests as sysfs, reading::Slot},
    probe::Reader,
};

#[test]
fn a_device_that_vanished_is_a_fault_until_it_is_back() {
    let mut bus = Bus::new();
    bus.after(0);
    let card = bus.devices.remove(CARD).unwrap();
    let findings = bus.after(60);
    assert!(findings.verdicts.iter().all(|verdict| verdict.subject != CARD));
    let findings = bus.after(120);
    assert_eq!(reasons(&findings, CARD), ["PcieDeviceVanished"]);
    assert_eq!(findings.hardware[0].total, 2);
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("gone".to_owned(), 1)]));
    bus.restart();
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieDeviceVanished"]);
    bus.devices.insert(CARD.to_owned(), card);
    assert!(reasons(&bus.after(60), CARD).is_empty());
}

#[test]
fn a_device_that_is_away_for_a_minute_is_none() {
    let mut bus = Bus::new();
    bus.after(0);
    let card = bus.devices.remove(CARD).unwrap();
    bus.after(60);
    bus.devices.insert(CARD.to_owned(), card);
    let findings = bus.after(61);
    assert!(reasons(&findings, CARD).is_empty() && findings.events.is_empty());
}

#[test]
fn of_a_branch_that_vanished_its_root_is_named() {
    let mut bus = Bus::new();
    let second = PcieReading { above: vec![PORT.to_owned()], ..bus.card().clone() };
    bus.devices.insert("0000:01:00.1".to_owned(), second);
    bus.after(0);
    bus.devices.remove(CARD);
    bus.devices.remove("0000:01:00.1");
    bus.after(60);
    assert_eq!(reasons(&bus.after(120), CARD), ["PcieDeviceVanished"]);
    assert_eq!(bus.after(0).verdicts.len(), 2);
    bus.devices.remove(PORT);
    bus.after(60);
    let findings = bus.after(120);
    assert_eq!((findings.verdicts.len(), reasons(&findings, PORT)), (1, vec!["PcieDeviceVanished".to_owned()]));
}

#[test]
fn a_new_boot_misses_nothing() {
    let mut bus = Bus::new();
    bus.after(0);
    bus.restart();
    (bus.boot_id, bus.secs) = ("two".to_owned(), 30);
    bus.devices.remove(CARD);
    bus.after(0);
    let findings = bus.after(600);
    assert_eq!(findings.verdicts.len(), 1);
}

#[test]
fn what_leaves_through_its_slot_is_an_event() {
    let mut bus = Bus::new();
    bus.after(0);
    bus.devices.remove(CARD);
    let slot = Slot { address: "0000:01:00".to_owned(), occupied: false };
    bus.devices.get_mut(PORT).unwrap().slots = vec![slot];
    assert!(bus.after(60).events.is_empty());
    let findings = bus.after(120);
    let reported: Vec<_> =
        findings.events.iter().map(|reported| (reported.reason.as_str(), reported.subject.as_deref())).collect();
    assert_eq!(reported, [("PcieDeviceRemoved", Some(CARD))]);
    assert_eq!((findings.verdicts.len(), findings.hardware[0].total), (1, 1));
    assert!(bus.after(60).events.is_empty());
}

#[test]
fn a_slot_that_is_still_occupied_is_no_excuse() {
    let mut bus = Bus::new();
    bus.after(0);
    bus.devices.remove(CARD);
    let slot = |address: &str, occupied| Slot { address: address.to_owned(), occupied };
    bus.devices.get_mut(PORT).unwrap().slots = vec![slot("0000:01:00", true), slot("0000:01:01", false)];
    bus.after(60);
    assert_eq!(reasons(&bus.after(120), CARD), ["PcieDeviceVanished"]);
}

#[test]
fn what_people_plug_in_and_out_may_go() {
    let mut bus = Bus::new();
    bus.card().removable = true;
    bus.after(0);
    bus.devices.remove(CARD);
    bus.after(60);
    assert_eq!(bus.after(120).events.len(), 1);
}

#[test]
fn a_device_that_answers_with_all_ones_is_a_fault_once_it_lasts() {
    let mut bus = Bus::new();
    bus.after(0);
    bus.card().mute = true;
    assert!(reasons(&bus.after(60), CARD).is_empty());
    let findings = bus.after(60);
    assert_eq!(reasons(&findings, CARD), ["PcieDeviceNotResponding"]);
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("not answering".to_owned(), 1)]));
    bus.card().mute = false;
    assert!(reasons(&bus.after(60), CARD).is_empty());
}

#[test]
fn of_a_branch_that_does_not_answer_its_root_is_at_fault() {
    let mut bus = Bus::new();
    let second = "0000:01:00.1";
    bus.devices.insert(second.to_owned(), bus.devices[CARD].clone());
    bus.after(0);
    // The second function first, then its card, then the port: each as the readings come.
    let mute = |bus: &mut Bus, address: &str| {
        bus.devices.get_mut(address).unwrap().mute = true;
        bus.after(60)
    };
    mute(&mut bus, second);
    let findings = mute(&mut bus, CARD);
    assert_eq!(reasons(&findings, second), ["Unknown: DeviceNotAnswering"]);
    assert_eq!(
        message(&findings, second),
        "0000:01:00.0, which leads to this device, does not answer; see what is reported of 0000:01:00.0"
    );
    let findings = mute(&mut bus, PORT);
    for address in [CARD, second] {
        assert_eq!(
            message(&findings, address),
            "0000:00:01.0, which leads to this device, does not answer; see what is reported of 0000:00:01.0"
        );
    }
    let findings = bus.after(60);
    assert_eq!(reasons(&findings, PORT), ["PcieDeviceNotResponding"]);
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("not answering".to_owned(), 3)]));
    // The port is back, and the card is not.
    bus.devices.get_mut(PORT).unwrap().mute = false;
    let findings = bus.after(60);
    assert_eq!(
        (reasons(&findings, PORT), reasons(&findings, CARD)),
        (vec![], vec!["PcieDeviceNotResponding".to_owned()])
    );
    assert_eq!(reasons(&findings, second), ["Unknown: DeviceNotAnswering"]);
}

/// Reader and judge together, on a tree of files.
fn round(reader: &mut crate::pcie::PcieReader, judge: &mut PcieJudge, secs: u64) -> Findings {
    let names = reader.list().unwrap();
    let answers = names.iter().map(|name| (name.clone(), reader.read(name).map_err(PollError::Read))).collect();
    let bus = Bus { secs: LATER + secs, ..Bus::new() };
    judge.judge(Round { now: bus.now(), listed: Ok(names), answers })
}

#[test]
fn counters_in_sysfs_become_a_verdict_and_an_unplugged_card_an_event() {
    let tree = sysfs::ordinary();
    let (mut reader, mut judge) = (tree.reader(), PcieJudge::new(PcieSettings::default()));
    tree.device(sysfs::CARD, &[("aer_dev_fatal", "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0")]);
    assert!(reasons(&round(&mut reader, &mut judge, 0), CARD).is_empty());
    tree.device(sysfs::CARD, &[("aer_dev_fatal", "Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1")]);
    let findings = round(&mut reader, &mut judge, 60);
    assert_eq!(reasons(&findings, CARD), ["PcieAerFatal"]);
    assert_eq!(
        message(&findings, CARD),
        "fatal errors within a day: 1, lately mostly DLP; reseat the card or riser, update its firmware"
    );

    tree.remove(sysfs::CARD);
    tree.slot("5", &[("address", "0000:01:00"), ("adapter", "0"), ("power", "1")]);
    round(&mut reader, &mut judge, 120);
    let findings = round(&mut reader, &mut judge, 240);
    assert_eq!(findings.events[0].reason.as_str(), "PcieDeviceRemoved");
}
