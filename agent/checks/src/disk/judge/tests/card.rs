use nodewell_sys::megaraid::Question;

use super::*;
use crate::disk::{
    megaraid::{
        reading::{Battery, BatteryKind, CardReading, battery_status, disk_state},
        tests::fake::{DEGRADED, FakeCard, FakeDisk, FakeVolume, OFFLINE, OPTIMAL},
    },
    reading::ScsiReading,
};

const CARD: &str = "0000:03:00.0";

fn read(fake: &FakeCard) -> CardReading {
    fake.clone().read().unwrap()
}

fn look(bench: &mut Bench, card: CardReading) -> Findings {
    bench.round(vec![(CARD, reading_of("53H00AB", Health::Card(card)))])
}

/// `slot 252:2 RaidDiskMissing`, without the card's address.
fn problems(findings: &Findings) -> Vec<String> {
    let of = |verdict: &Verdict| {
        let subject = verdict.subject.strip_prefix(CARD).unwrap().trim().to_owned();
        reasons(&verdict.state).into_iter().map(move |reason| format!("{subject} {reason}").trim().to_owned())
    };
    findings.verdicts.iter().flat_map(of).collect()
}

fn message(findings: &Findings, reason: &str) -> String {
    let faults = findings.verdicts.iter().filter_map(|verdict| match &verdict.state {
        State::Faulty(faults) => Some(faults),
        _ => None,
    });
    faults.flatten().find(|fault| fault.reason.as_str() == reason).unwrap().message.clone()
}

fn events(findings: &Findings) -> Vec<String> {
    findings.events.iter().map(|event| format!("{} {}", event.subject.as_ref().unwrap(), event.message)).collect()
}

#[test]
fn a_card_its_slots_and_its_volumes_are_counted_apart() {
    let mut bench = Bench::new();
    let findings = look(&mut bench, read(&FakeCard::new()));
    assert_eq!(problems(&findings), [""; 0]);
    let lines: Vec<_> = findings.hardware.iter().map(|line| (line.class.as_str(), line.total)).collect();
    assert_eq!(lines, [("RAID controllers", 1), ("RAID disks", 4), ("RAID volumes", 1)]);
}

#[test]
fn a_pulled_disk_is_missed_by_slot_and_serial_number_until_it_is_back() {
    let mut bench = Bench::new();
    look(&mut bench, read(&FakeCard::new()));
    bench.restart();
    let findings = look(&mut bench, read(&FakeCard::pulled()));
    assert_eq!(problems(&findings), ["slot 252:2 RaidDiskMissing", "volume 0 RaidVolumeDegraded"]);
    assert_eq!(
        message(&findings, "RaidDiskMissing"),
        "the slot is empty, volume 0 (RAID 5, data) lacks its disk; seat it or put in another, check backplane and \
         cable (SEAGATE ST4000NM0025, serial number ZC100010)"
    );
    assert_eq!(
        message(&findings, "RaidVolumeDegraded"),
        "volume 0 (RAID 5, data) has lost redundancy, slot 252:2 empty; replace the disk, and wait for the end of the \
         rebuild"
    );
    // Also after a restart, and while the card's lists cannot be read.
    bench.restart();
    let unread = CardReading { volumes: Part::Unreadable("busy".to_owned()), ..read(&FakeCard::pulled()) };
    assert!(problems(&look(&mut bench, unread)).contains(&"slot 252:2 RaidDiskMissing".to_owned()));
    let mut back = FakeCard::new();
    back.volumes[0].state = DEGRADED;
    back.disks[1].state = disk_state::REBUILD;
    back.disks[1].rebuild = Some(0x4000);
    let findings = look(&mut bench, read(&back));
    assert_eq!(problems(&findings), ["volume 0 RaidVolumeDegraded"]);
    assert!(message(&findings, "RaidVolumeDegraded").contains("slot 252:2 rebuild"));
    assert_eq!(problems(&look(&mut bench, read(&FakeCard::new()))), [""; 0]);
}

#[test]
fn what_no_volume_misses_is_not_missed() {
    // A hot spare; a disk whose volume is whole without it; one that sits elsewhere; a volume of unclear state.
    let mut spare = FakeCard::new();
    spare.disks.remove(3);
    let mut replaced = FakeCard::pulled();
    (replaced.volumes[0].state, replaced.volumes[0].disks[1]) = (OPTIMAL, 12);
    replaced.disks[2].state = disk_state::ONLINE;
    let mut moved = FakeCard::new();
    moved.disks[1].slot = 9;
    moved.volumes[0].state = DEGRADED;
    let unclear = FakeCard::pulled().with(Question::Volume(0), 0x32, &[]);
    for (fake, expected) in [
        (spare, vec![]),
        (replaced, vec![]),
        (moved, vec!["volume 0 RaidVolumeDegraded"]),
        (unclear, vec!["volume 0 ? DeviceUnreadable"]),
    ] {
        let mut bench = Bench::new();
        look(&mut bench, read(&FakeCard::new()));
        let findings = look(&mut bench, read(&fake));
        assert_eq!(problems(&findings), expected);
        assert_eq!(events(&findings), [""; 0]);
    }
}

/// As QEMU shows it, and firmware that drops a volume with its only disk.
#[test]
fn a_disk_that_takes_its_volume_with_it_is_missed_while_the_kernel_has_that() {
    let single = |kernel_volumes: &[u8], has_it: bool| {
        let mut fake = FakeCard::new();
        fake.volumes.push(FakeVolume { target: 5, state: OPTIMAL, disks: vec![12] });
        fake.disks[3].state = disk_state::ONLINE;
        if !has_it {
            fake.disks.remove(3);
            fake.volumes.remove(1);
        }
        CardReading { kernel_volumes: kernel_volumes.to_vec(), ..read(&fake) }
    };
    let mut bench = Bench::new();
    look(&mut bench, single(&[0, 5], true));
    assert_eq!(problems(&look(&mut bench, single(&[0, 5], false))), [""; 0], "the driver may be about to take it away");
    let findings = look(&mut bench, single(&[0, 5], false));
    assert_eq!(problems(&findings), ["slot 252:4 RaidDiskMissing"]);
    assert!(message(&findings, "RaidDiskMissing").contains("and volume 5 is gone with its disk"));
    let over = look(&mut bench, single(&[0], false));
    assert_eq!((problems(&over), events(&over)), (vec![], vec![]));

    let mut bench = Bench::new();
    look(&mut bench, single(&[0, 5], true));
    let gone = look(&mut bench, single(&[0], false));
    assert_eq!(problems(&gone), [""; 0]);
    assert_eq!(
        events(&gone),
        ["0000:03:00.0 slot 252:4 the slot is empty, volume 5 and the disk are gone; unless taken out, check seat, \
          backplane and cable (SEAGATE ST4000NM0025, serial number ZC100012)"]
    );
    assert_eq!(events(&look(&mut bench, single(&[0], false))), [""; 0]);
}

#[test]
fn states_of_disks_are_faults_spares_or_nothing() {
    for (state, expected) in [
        (disk_state::FAILED, vec!["slot 252:4 RaidDiskFailed"]),
        (disk_state::UNCONFIGURED_BAD, vec!["slot 252:4 RaidDiskUnusable"]),
        (disk_state::UNCONFIGURED_GOOD, vec![]),
        (disk_state::HOT_SPARE, vec![]),
        (disk_state::OFFLINE, vec![]),
        (disk_state::REBUILD, vec![]),
        (disk_state::COPYBACK, vec![]),
        (disk_state::JBOD, vec![]),
        (0x99, vec![]),
    ] {
        let mut fake = FakeCard::new();
        fake.disks[3].state = state;
        assert_eq!(problems(&look(&mut Bench::new(), read(&fake))), expected, "{state:#x}");
    }
}

#[test]
fn an_offline_disk_counts_where_its_volume_shows_it() {
    let mut fake = FakeCard::new();
    fake.disks[1].state = disk_state::OFFLINE;
    assert_eq!(problems(&look(&mut Bench::new(), read(&fake))), [""; 0]);
    fake.volumes[0].state = OFFLINE;
    let findings = look(&mut Bench::new(), read(&fake));
    assert_eq!(problems(&findings), ["slot 252:2 RaidDiskFailed", "volume 0 RaidVolumeOffline"]);
    assert!(message(&findings, "RaidVolumeOffline").contains("slot 252:2 offline"));
}

#[test]
fn predictions_count_at_once_and_media_errors_when_they_grow() {
    let mut fake = FakeCard::new();
    (fake.disks[0].predicted_failures, fake.disks[1].media_errors) = (2, 40);
    let mut bench = Bench::new();
    assert_eq!(problems(&look(&mut bench, read(&fake))), ["slot 252:1 RaidDiskPredictsFailure"]);
    fake.disks[1].media_errors = 41;
    let both = ["slot 252:1 RaidDiskPredictsFailure", "slot 252:2 RaidDiskMediaErrors"];
    assert_eq!(problems(&look(&mut bench, read(&fake))), both);
    // A disk that is not read has what it had: its state is unknown, and ends nothing.
    let unread = fake.with(Question::Disk(10), 0x32, &[]);
    let findings = look(&mut bench, read(&unread));
    assert_eq!(problems(&findings), ["slot 252:1 RaidDiskPredictsFailure", "slot 252:2 ? DeviceUnreadable"]);
}

#[test]
fn a_card_that_does_not_answer_leaves_all_behind_it_unknown() {
    let mut bench = Bench::new();
    look(&mut bench, read(&FakeCard::pulled()));
    let findings = bench.round(vec![(CARD, silent())]);
    assert_eq!(findings.verdicts.len(), 5);
    let is_silent = |verdict: &Verdict| reasons(&verdict.state) == ["? DeviceNotAnswering"];
    assert!(findings.verdicts.iter().all(is_silent), "{findings:?}");
    // Its driver is gone: so is all that it showed.
    assert_eq!(bench.round(Vec::new()).verdicts, []);
}

#[test]
fn lists_that_are_refused_leave_what_they_name_unknown() {
    let mut bench = Bench::new();
    look(&mut bench, read(&FakeCard::new()));
    let without = |disks| {
        let mut card = read(&FakeCard::new());
        let why = || "status 0x32".to_owned();
        if disks {
            card.disks = Part::Unreadable(why());
        } else {
            card.volumes = Part::Unreadable(why());
        }
        card
    };
    let unknown: Vec<_> = ["? DeviceUnreadable", "slot 252:1 ? DeviceUnreadable"].map(str::to_owned).into();
    assert_eq!(problems(&look(&mut bench, without(true)))[..2], unknown);
    assert_eq!(problems(&look(&mut bench, without(false))), ["? DeviceUnreadable", "volume 0 ? DeviceUnreadable"]);
    assert_eq!(problems(&look(&mut bench, read(&FakeCard::new()))), [""; 0]);
}

#[test]
fn a_battery_is_bad_in_two_looks_and_not_while_it_learns() {
    use battery_status::{
        CHARGE_ACTIVE, DISCHARGE_ACTIVE, LEARN_ACTIVE, LEARN_REQUESTED, LEARN_REQUIRED, PACK_MISSING, REPLACE_PACK,
    };
    let healthy = BatteryKind::WithHealth { is_good: true };
    let bad = BatteryKind::WithHealth { is_good: false };
    let looks: &[&[(BatteryKind, u32, bool)]] = &[
        &[(healthy, 0, false), (healthy, REPLACE_PACK, false), (healthy, REPLACE_PACK, true), (healthy, 0, false)],
        &[(bad, 0, false), (bad, 0, true), (bad, LEARN_ACTIVE, true), (healthy, 0, false)],
        &[(bad, LEARN_ACTIVE, false), (bad, DISCHARGE_ACTIVE, false), (bad, LEARN_ACTIVE, false)],
        // One that was put in, or was empty: it is charged, and then measured.
        &[(bad, CHARGE_ACTIVE, false), (bad, LEARN_REQUESTED, false), (bad, LEARN_REQUIRED, false)],
        &[(bad, 0, false), (bad, 0, true), (bad, CHARGE_ACTIVE, true), (healthy, CHARGE_ACTIVE, false)],
        &[(BatteryKind::Other, REPLACE_PACK, false), (BatteryKind::Other, REPLACE_PACK | LEARN_ACTIVE, true)],
        // One that was never there is none that was lost.
        &[(bad, PACK_MISSING, false), (bad, PACK_MISSING, false), (bad, PACK_MISSING, false)],
        &[(healthy, 0, false), (healthy, PACK_MISSING, false), (healthy, PACK_MISSING, true)],
        &[(healthy, 0x1803, false), (healthy, 0x1802, false), (healthy, 0x03a4, false)],
    ];
    for (n, looks) in looks.iter().enumerate() {
        let mut bench = Bench::new();
        for (kind, status, is_faulty) in looks.iter().copied() {
            let battery = Part::Read(Some(Battery { kind, status }));
            let findings = look(&mut bench, CardReading { battery, ..read(&FakeCard::new()) });
            let expected = if is_faulty { vec!["RaidBatteryFailed"] } else { vec![] };
            assert_eq!(problems(&findings), expected, "{n}: {kind:?} {status:#x}");
            bench.restart();
        }
    }
}

#[test]
fn a_disk_keeps_its_counters_in_another_slot() {
    let mut fake = FakeCard::new();
    fake.disks[3].media_errors = 7;
    let mut bench = Bench::new();
    look(&mut bench, read(&fake));
    fake.disks[3] = FakeDisk { slot: 9, ..fake.disks[3].clone() };
    look(&mut bench, read(&fake));
    assert_eq!(problems(&look(&mut bench, read(&fake))), [""; 0]);
    fake.disks[3].media_errors = 8;
    let findings = look(&mut bench, read(&fake));
    assert!(message(&findings, "RaidDiskMediaErrors").contains("media errors: 8 (baseline 7)"), "{findings:?}");
}

/// One that the card passes through is a disk of the kernel's too, and has other counters there.
#[test]
fn a_disk_that_the_kernel_has_too_has_two_histories() {
    let mut fake = FakeCard::new();
    fake.disks[3].media_errors = 40;
    let scsi = ScsiReading { uncorrected_errors: Part::Read(7), ..ScsiReading::default() };
    let sda = || ("sda", reading_of("ZC100012", Health::Scsi(scsi.clone())));
    let card = || (CARD, reading_of("53H00AB", Health::Card(read(&fake))));
    let mut bench = Bench::new();
    // The slowest device is asked last.
    for answers in [vec![sda()], vec![card(), sda()], vec![sda(), card()]] {
        let findings = bench.round(answers);
        assert!(findings.verdicts.iter().all(|verdict| reasons(&verdict.state).is_empty()), "{findings:?}");
        bench.restart();
    }
}

/// Enclosures have other numbers: a disk that is not read may be the one that is missed.
#[test]
fn a_disk_is_not_missed_while_another_one_may_be_it() {
    let mut moved = FakeCard::new();
    moved.disks[1].enclosure = 245;
    moved.volumes[0].state = DEGRADED;
    let unread = moved.clone().with(Question::Disk(10), 0x32, &[]);
    let mut bench = Bench::new();
    look(&mut bench, read(&FakeCard::new()));
    let expected = ["slot 245:2 ? DeviceUnreadable", "volume 0 RaidVolumeDegraded"];
    assert_eq!(problems(&look(&mut bench, read(&unread))), expected);
    assert_eq!(problems(&look(&mut bench, read(&unread))), expected);
    assert_eq!(problems(&look(&mut bench, read(&moved))), ["volume 0 RaidVolumeDegraded"]);
}
