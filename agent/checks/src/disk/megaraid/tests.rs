use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::{
    reading::{BatteryKind, VolumeHealth, disk_state},
    *,
};
use crate::disk::part::Part;

pub(crate) mod fake;

use fake::{DEGRADED, FakeCard, FakeDisk, OFFLINE};

fn slots(reading: &CardReading) -> Vec<&str> {
    reading.disks.read().unwrap().iter().map(|disk| disk.slot.as_str()).collect()
}

#[test]
fn a_card_shows_its_disks_by_slot_and_its_volumes() {
    let mut fake = FakeCard::new();
    let (identity, reading) = card(&mut fake, &|| false).unwrap();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("PERC H730 Mini", "53H00AB"));
    assert_eq!(slots(&reading), ["252:1", "252:2", "252:3", "252:4"]);
    let disks = reading.disks.read().unwrap();
    let first = disks[0].info.read().unwrap();
    assert_eq!((first.identity.model.as_str(), first.identity.serial.as_str()), ("SEAGATE ST4000NM0025", "ZC100009"));
    let states: Vec<_> = disks.iter().map(|disk| reading.state_of(disk).unwrap()).collect();
    assert_eq!(states, [disk_state::ONLINE, disk_state::ONLINE, disk_state::ONLINE, disk_state::HOT_SPARE]);
    assert_eq!((reading.volumes_of(10), reading.volumes_of(12)), (Some(vec![0]), Some(vec![])));
    assert_eq!(reading.volumes.read().unwrap()[0].health(), VolumeHealth::Optimal);
    assert_eq!(reading.battery, Part::Read(None), "it refuses the question with status 0x0c");
}

/// Nothing is asked twice, and of an optimal volume nothing more.
#[test]
fn questions_are_few() {
    let mut fake = FakeCard::new();
    fake.read().unwrap();
    let disks = [9, 10, 11, 12].map(Question::Disk);
    let asked = [
        &[Question::Controller, Question::Disks, Question::Configuration][..],
        &disks,
        &[Question::Volumes, Question::Battery],
    ];
    assert_eq!(fake.asked, asked.concat());
}

#[test]
fn a_degraded_volume_needs_two_witnesses() {
    let health = |mut fake: FakeCard| fake.read().unwrap().volumes.read().unwrap()[0].health();
    let mut broken = FakeCard::pulled();
    assert_eq!(health(broken.clone()), VolumeHealth::Degraded);
    assert_eq!(broken.read().unwrap().volumes.read().unwrap()[0].label(), "volume 0 (RAID 5, data)");
    broken.volumes[0].state = OFFLINE;
    assert_eq!(health(broken.clone()), VolumeHealth::Offline);
    // Another state, another volume's data, nothing, a status: each may be a volume that changes at this moment.
    let mut other = broken.volumes[0].clone();
    other.state = DEGRADED;
    let changed = FakeCard::volume_info(&other);
    (other.state, other.target) = (OFFLINE, 7);
    let another = FakeCard::volume_info(&other);
    let answers: [(u8, &[u8]); 4] = [(0, &changed), (0, &another), (0, &[]), (0x32, &[])];
    for (status, answer) in answers {
        let unclear = broken.clone().with(Question::Volume(0), status, answer);
        assert_eq!(health(unclear), VolumeHealth::Unclear, "{status} {answer:?}");
    }
}

#[test]
fn parts_that_are_refused_or_garbled_take_no_others_with_them() {
    let is_read = |question: Question, status: u8, answer: &[u8]| {
        let reading = FakeCard::new().with(question, status, answer).read().unwrap();
        (reading.disks.read().is_some(), reading.volumes.read().is_some(), reading.configuration.read().is_some())
    };
    let answers: [(u8, &[u8]); 5] = [(0x02, &[]), (0x03, &[]), (0x0f, &[]), (0, &[0x5a; 6000]), (0, &[0xff; 6000])];
    for (status, answer) in answers {
        assert_eq!(is_read(Question::Disks, status, answer), (false, true, true), "{status} {}", answer.len());
        assert_eq!(is_read(Question::Volumes, status, answer), (true, false, true), "{status} {}", answer.len());
        assert_eq!(is_read(Question::Configuration, status, answer), (true, true, false), "{status} {}", answer.len());
    }
}

#[test]
fn a_card_that_stops_answering_is_read_no_further() {
    for question in ["Controller", "Disks", "Configuration", "Disk(10)", "Volumes", "Battery"] {
        let mut fake = FakeCard { refuses: Some(question.to_owned()), ..FakeCard::new() };
        assert!(matches!(fake.read(), Err(ReadError::Failed { .. })), "{question}");
        assert_eq!(format!("{:?}", fake.asked.last().unwrap()), question);
    }
    let mut blank = FakeCard::new().with(Question::Controller, 0, &[]);
    assert!(matches!(blank.read(), Err(ReadError::Failed { .. })));
}

#[test]
fn a_look_without_time_leaves_disks_unread_and_says_how_many() {
    let mut fake = FakeCard::new();
    let looks = std::cell::Cell::new(0);
    let is_over = || looks.replace(looks.get() + 1) >= 2;
    let (_, reading) = card(&mut fake, &is_over).unwrap();
    assert_eq!((reading.unread, slots(&reading).len()), (2, 4));
    let unread = |disk: &reading::CardDisk| matches!(disk.info, Part::Unreadable(_));
    assert_eq!(reading.disks.read().unwrap().iter().filter(|disk| unread(disk)).count(), 2);
}

#[test]
fn slots_are_named_as_the_vendors_tools_name_them() {
    let mut fake = FakeCard::new();
    (fake.disks[0].enclosure, fake.disks[1].slot) = (0xffff, 0xff);
    (fake.disks[2].enclosure, fake.disks[2].slot) = (252, 4);
    assert_eq!(slots(&fake.read().unwrap()), ["1", "of disk 10", "252:4", "of disk 12"]);
}

#[test]
fn a_disk_that_went_meanwhile_and_another_disks_data_are_no_data() {
    let info = |status: u8, answer: &[u8]| {
        let reading = FakeCard::new().with(Question::Disk(10), status, answer).read().unwrap();
        reading.disks.read().unwrap()[1].info.clone()
    };
    assert_eq!(info(0x0c, &[]), Part::Absent);
    assert_eq!(info(0, &FakeDisk::at(1).info()), Part::Absent);
    assert!(matches!(info(0, &[]), Part::Unreadable(_)));
    assert!(matches!(info(0x26, &[]), Part::Unreadable(_)));
    // Then the configuration's state counts.
    let reading = FakeCard::new().with(Question::Disk(10), 0, &FakeDisk::at(1).info()).read().unwrap();
    assert_eq!(reading.state_of(&reading.disks.read().unwrap()[1]), Some(disk_state::ONLINE));
}

#[test]
fn a_disk_that_does_not_answer_inquiry_has_no_serial_number() {
    let mut disk = FakeDisk::at(1);
    (disk.is_mute, disk.state, disk.rebuild) = (true, disk_state::REBUILD, Some(0x8000));
    let info = layout::disk(9, &disk.info()).unwrap().unwrap();
    assert_eq!((info.identity, info.state, info.rebuild_percent), (Identity::default(), 0x14, Some(50)));
}

#[test]
fn a_count_of_nothing_but_ones_predicts_no_failure() {
    let predicted = |predicted_failures: u32| {
        let disk = FakeDisk { predicted_failures, ..FakeDisk::at(1) };
        layout::disk(9, &disk.info()).unwrap().unwrap().predicted_failures
    };
    assert_eq!((predicted(u32::MAX), predicted(2)), (0, 2));
}

#[test]
fn a_sata_disk_has_its_serial_number_in_either_place() {
    let identity = |at: &[(usize, &str)]| {
        let mut bytes = FakeDisk::at(1).info();
        bytes[4..100].fill(0);
        at.iter().for_each(|(at, text)| bytes[4 + at..4 + at + text.len()].copy_from_slice(text.as_bytes()));
        let Identity { model, serial, .. } = layout::disk(9, &bytes).unwrap().unwrap().identity;
        (model, serial)
    };
    let expected = |model: &str, serial: &str| (model.to_owned(), serial.to_owned());
    let words = format!("{:<20}{:<40}{:<8}", "BTWL3450062J300PGN", "INTEL SSDSC2BB300G4", "D2010355");
    assert_eq!(identity(&[(8, &words)]), expected("INTEL SSDSC2BB300G4", "BTWL3450062J300PGN"));
    let standard = [(8, "ATA     "), (16, "INTEL SSDSC2BB30"), (32, "0355"), (36, "BTWL3450062J300PGN  ")];
    assert_eq!(identity(&standard), expected("ATA INTEL SSDSC2BB30", "BTWL3450062J300PGN"));
}

#[test]
fn a_serial_number_of_two_disks_is_none() {
    let mut twin = FakeDisk::at(1).info();
    twin[..2].copy_from_slice(&10_u16.to_le_bytes());
    let reading = FakeCard::new().with(Question::Disk(10), 0, &twin).read().unwrap();
    let disks = reading.disks.read().unwrap();
    let serials: Vec<_> = disks.iter().map(|disk| disk.info.read().unwrap().identity.serial.as_str()).collect();
    assert_eq!(serials, ["", "", "ZC100011", "ZC100012"]);
}

#[test]
fn a_configuration_adds_up_in_one_of_two_ways() {
    let mut fake = FakeCard::pulled();
    let mut second = fake.volumes[0].clone();
    (second.target, second.disks) = (3, vec![12]);
    fake.volumes.push(second);
    let firmwares = layout::configuration(&fake.configuration()).unwrap();
    fake.sizes_of_all = true;
    let qemus = layout::configuration(&fake.configuration()).unwrap();
    assert_eq!(firmwares, qemus);
    let members: Vec<_> = firmwares.members.iter().map(|member| (member.device, member.volumes.clone())).collect();
    assert_eq!(members, [(9, vec![0]), (11, vec![0]), (12, vec![3])]);
    assert_eq!(firmwares.lacking, [0]);
    let mut other = fake.configuration();
    other[0] += 1;
    assert!(layout::configuration(&other).is_err());
    other = fake.configuration();
    other.truncate(400);
    assert!(layout::configuration(&other).is_err(), "its size is more than there is");
}

#[test]
fn a_long_configuration_is_asked_for_again() {
    let mut fake = FakeCard::new();
    let volume = fake.volumes[0].clone();
    fake.volumes = (0..12).map(|target| fake::FakeVolume { target, ..volume.clone() }).collect();
    let reading = fake.read().unwrap();
    assert_eq!(reading.volumes_of(9).unwrap().len(), 12);
    assert_eq!(fake.asked.iter().filter(|asked| **asked == Question::Configuration).count(), 2);
}

fn battery(kind: u8, status: u32, is_good: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    (bytes[0], bytes[42]) = (kind, is_good);
    bytes[8..12].copy_from_slice(&status.to_le_bytes());
    bytes
}

#[test]
fn a_battery_is_there_or_not_and_only_one_kind_has_its_health() {
    let kind = |bytes: &[u8]| layout::battery(bytes).unwrap().map(|battery| battery.kind);
    assert_eq!(kind(&battery(2, 0, 1)), Some(BatteryKind::WithHealth { is_good: true }));
    assert_eq!(kind(&battery(2, 0, 0)), Some(BatteryKind::WithHealth { is_good: false }));
    assert_eq!(kind(&battery(1, 0x8, 0)), Some(BatteryKind::Other));
    assert_eq!(kind(&[0; 64]), None);
    assert_eq!(kind(&battery(0, 0x8, 0)), None);
    assert!(layout::battery(&[0xff; 64]).is_err());
    assert!(layout::battery(&battery(1, 1 << 20, 0)).is_err());
    let read = |status| FakeCard::new().with(Question::Battery, status, &[]).read().unwrap().battery;
    for status in [0x22, 0x23, 0] {
        assert_eq!(read(status), Part::Read(None), "{status:#x}");
    }
    assert_eq!(read(0x02), Part::Absent);
    assert!(matches!(read(0x32), Part::Unreadable(_)));
}

#[test]
fn lists_that_name_more_than_there_is_or_one_twice_are_not_believed() {
    let fake = FakeCard::new();
    for count in [250_u32, u32::MAX] {
        let mut list = fake.disk_list();
        list[4..8].copy_from_slice(&count.to_le_bytes());
        assert!(layout::disks(&list).is_err(), "{count}");
        let mut list = fake.volume_list();
        list[..4].copy_from_slice(&count.to_le_bytes());
        assert!(layout::volumes(&list).is_err(), "{count}");
    }
    let mut cut = fake.disk_list();
    cut[..4].copy_from_slice(&32_u32.to_le_bytes());
    assert!(layout::disks(&cut).is_err(), "its size is that of one entry");
    let mut twice = FakeCard::new();
    twice.disks[1].device = twice.disks[0].device;
    twice.volumes.push(twice.volumes[0].clone());
    assert!(layout::disks(&twice.disk_list()).is_err() && layout::volumes(&twice.volume_list()).is_err());
    assert_eq!(layout::disks(&[0; 8]).unwrap(), []);
    assert!(layout::disks(&[0; 7]).is_err());
}

/// As sysfs has hosts: links into the devices.
fn sysfs_with(hosts: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("class/scsi_host")).unwrap();
    for (host, below, driver) in hosts {
        let folder = root.path().join(format!("devices/{below}/{host}/scsi_host/{host}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("proc_name"), format!("{driver}\n")).unwrap();
        symlink(&folder, root.path().join("class/scsi_host").join(host)).unwrap();
    }
    root
}

#[test]
fn cards_are_the_drivers_hosts_by_their_address() {
    let root = sysfs_with(&[
        ("host0", "pci0000:00/0000:00:17.0/ata1", "ahci"),
        ("host2", "pci0000:00/0000:00:01.0/0000:03:00.0", "megaraid_sas"),
        ("host12", "pci0000:80/0000:82:00.0", "megaraid_sas"),
        ("host3", "platform/odd", "megaraid_sas"),
    ]);
    assert_eq!(cards(root.path()), ["0000:03:00.0", "0000:82:00.0"]);
    assert_eq!((host(root.path(), "0000:82:00.0"), host(root.path(), "0000:00:17.0")), (Some(12), None));
    assert_eq!(cards(&root.path().join("none")), [""; 0]);
}

#[test]
fn the_kernels_volumes_are_on_the_channels_after_the_disks() {
    let root = tempfile::tempdir().unwrap();
    for name in ["2:0:5:0", "2:2:0:0", "2:2:7:0", "2:3:1:0", "2:4:9:0", "12:2:3:0", "target2:2:0", "2:2:200:0"] {
        fs::create_dir_all(root.path().join("bus/scsi/devices").join(name)).unwrap();
    }
    assert_eq!(kernel_volumes(root.path(), 2), [0, 7, 129]);
}

proptest! {
    #[test]
    fn no_answer_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..600), n in 0_usize..7) {
        let question = [
            Question::Controller, Question::Disks, Question::Disk(10), Question::Volumes, Question::Volume(0),
            Question::Configuration, Question::Battery,
        ][n];
        let mut fake = FakeCard::pulled().with(question, 0, &bytes);
        if let Ok(reading) = fake.read() {
            prop_assert!(reading.disks.read().is_none_or(|disks| disks.len() <= 256));
            prop_assert!(reading.volumes.read().is_none_or(|volumes| volumes.len() <= 64));
        }
    }
}
