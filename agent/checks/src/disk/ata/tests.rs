use std::io;

use super::{super::scsi::Reply, page::tests as blocks, *};

/// A SATA disk behind a translation layer.
struct Scripted {
    power: u8,
    failing: (u8, u8),
    attributes: [u8; 512],
    thresholds: Option<[u8; 512]>,
    log: [u8; 512],
    /// Some controllers drop the registers.
    has_registers: bool,
    asked: Vec<(u8, u8)>,
}

impl Default for Scripted {
    fn default() -> Self {
        Self {
            power: 0xff,
            failing: SMART_LBA,
            attributes: blocks::data(&[(5, 1, 100, 0)]),
            thresholds: Some(blocks::thresholds(&[(5, 36)])),
            log: blocks::self_tests(1, &[(1, 0, 5)]),
            has_registers: true,
            asked: Vec::new(),
        }
    }
}

fn answered(error: u8, count: u8, lba_mid: u8, lba_high: u8) -> Reply {
    let key = if error == 0 { 0x01 } else { 0x0b };
    let sense =
        vec![0x72, key, 0, 0x1d, 0, 0, 0, 14, 9, 12, 0, error, 0, count, 0, 0, 0, lba_mid, 0, lba_high, 0, 0x50];
    Reply { status: 2, driver_status: 8, sense, length: 0, ..Reply::default() }
}

impl ScsiDevice for Scripted {
    fn command(&mut self, command: &[u8], into: &mut [u8]) -> io::Result<Reply> {
        assert_eq!((command.len(), command[0]), (16, PASS_THROUGH_16));
        self.asked.push((command[14], command[4]));
        let block = match (command[14], command[4]) {
            (CHECK_POWER_MODE, _) | (SMART, RETURN_STATUS) if !self.has_registers => return Ok(Reply::default()),
            (CHECK_POWER_MODE, _) => return Ok(answered(0, self.power, 0, 0)),
            (SMART, RETURN_STATUS) => return Ok(answered(0, 0, self.failing.0, self.failing.1)),
            (IDENTIFY_DEVICE, _) => Some(blocks::identity()),
            (SMART, READ_DATA) => Some(self.attributes),
            (SMART, READ_THRESHOLDS) => self.thresholds,
            (SMART, READ_LOG) if command[8] == SELF_TEST_LOG => Some(self.log),
            _ => None,
        };
        let Some(block) = block else { return Ok(answered(0x04, 0, 0, 0)) };
        // Data comes only if the count and the direction ask for it.
        assert_eq!((command[1], command[2], command[6], into.len()), (8, 0x0e, 1, 512));
        into.copy_from_slice(&block);
        Ok(Reply { length: 512, ..Reply::default() })
    }
}

fn ata(device: &mut Scripted) -> AtaReading {
    match read(device).unwrap() {
        (Some(_), Health::Ata(reading)) => reading,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disk_reports_its_status_attributes_and_tests() {
    let reading = ata(&mut Scripted::default());
    assert_eq!((reading.smart, reading.failing), (Smart::On, Part::Read(false)));
    assert_eq!(reading.attributes.read().unwrap()[0].threshold, Some(36));
    assert!(reading.self_test.read().unwrap().as_ref().unwrap().passed);
    let mut failing = Scripted { failing: FAILING_LBA, ..Scripted::default() };
    assert_eq!(ata(&mut failing).failing, Part::Read(true));
    let mut strange = Scripted { failing: (0, 0), ..Scripted::default() };
    assert!(matches!(ata(&mut strange).failing, Part::Unreadable(_)));
}

#[test]
fn a_sleeping_disk_is_asked_for_its_power_mode_only() {
    for power in [0x00, 0x01] {
        let mut device = Scripted { power, ..Scripted::default() };
        assert_eq!(read(&mut device).unwrap(), (None, Health::Asleep));
        assert_eq!(device.asked, [(CHECK_POWER_MODE, 0)]);
    }
    // Idle is not asleep.
    assert_eq!(ata(&mut Scripted { power: 0x80, ..Scripted::default() }).smart, Smart::On);
}

#[test]
fn a_controller_that_drops_the_registers_leaves_the_attributes() {
    let reading = ata(&mut Scripted { has_registers: false, ..Scripted::default() });
    assert_eq!((reading.failing, reading.attributes.read().unwrap().len()), (Part::Absent, 1));
}

#[test]
fn thresholds_that_are_not_there_leave_the_attributes() {
    let reading = ata(&mut Scripted { thresholds: None, ..Scripted::default() });
    assert_eq!(reading.attributes.read().unwrap()[0].threshold, None);
    let mut garbage = Scripted { attributes: [0xff; 512], ..Scripted::default() };
    assert!(matches!(ata(&mut garbage).attributes, Part::Unreadable(_)));
}
