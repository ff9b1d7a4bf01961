use std::collections::{BTreeMap, VecDeque};

use super::{log::tests::page, *};

/// A disk that has log pages and answers "illegal request" to all else.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) pages: BTreeMap<u8, Vec<u8>>,
    /// What REQUEST SENSE brings.
    sense: Vec<u8>,
    defects: Option<[u8; 8]>,
    /// Replies that come before all others.
    first: VecDeque<Reply>,
    asked: Vec<Vec<u8>>,
}

pub(crate) fn refused_with(key: u8, code: u8) -> Reply {
    let sense = vec![0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, 0];
    Reply { status: 2, driver_status: 8, sense, ..Reply::default() }
}

fn filled(bytes: &[u8], into: &mut [u8]) -> Reply {
    let length = bytes.len().min(into.len());
    into[..length].copy_from_slice(&bytes[..length]);
    Reply { length, ..Reply::default() }
}

impl ScsiDevice for Scripted {
    fn command(&mut self, command: &[u8], into: &mut [u8]) -> io::Result<Reply> {
        self.asked.push(command.to_vec());
        if let Some(reply) = self.first.pop_front() {
            return Ok(reply);
        }
        let bytes = match command[0] {
            REQUEST_SENSE => Some(self.sense.clone()),
            LOG_SENSE => self.pages.get(&(command[2] & 0x3f)).cloned(),
            READ_DEFECT_DATA_12 => self.defects.map(|bytes| bytes.to_vec()),
            _ => None,
        };
        Ok(bytes.map_or_else(|| refused_with(5, 0x20), |bytes| filled(&bytes, into)))
    }
}

fn disk() -> Scripted {
    let supported = [0x00, 0x02, 0x03, 0x0d, 0x11, 0x2f];
    let list = [&[0, 0, 0, 6], supported.as_slice()].concat();
    let pages = BTreeMap::from([
        (0x00, list),
        (0x02, page(0x02, &[(6, &[2])])),
        (0x03, page(0x03, &[(6, &[0, 3])])),
        (0x0d, page(0x0d, &[(0, &[0, 33]), (1, &[0, 60])])),
        (0x11, page(0x11, &[(1, &[0, 0, 0, 7])])),
        (0x2f, page(0x2f, &[(0, &[0, 0, 33])])),
    ]);
    let sense = vec![0x70, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    Scripted { pages, sense, defects: Some([0, 0x0d, 0, 0, 0, 0, 0, 32]), ..Scripted::default() }
}

fn scsi(device: &mut Scripted) -> ScsiReading {
    match read(device).unwrap() {
        Health::Scsi(reading) => reading,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sas_disk_reports_all_of_its_pages() {
    let reading = scsi(&mut disk());
    assert_eq!(reading.pages, Part::Read(6));
    assert_eq!(reading.uncorrected_errors, Part::Read(5));
    assert_eq!(reading.grown_defects, Part::Read(4));
    assert_eq!(reading.used_percent, Part::Read(7));
    assert_eq!(reading.temperature.read().unwrap().celsius, Some(33));
    assert_eq!(reading.self_test, Part::Absent);
}

#[test]
fn a_volume_without_log_pages_is_asked_for_none() {
    let mut device = disk();
    device.pages.clear();
    device.defects = None;
    let reading = scsi(&mut device);
    assert_eq!(
        (reading.pages, reading.uncorrected_errors, reading.grown_defects),
        (Part::Absent, Part::Absent, Part::Absent)
    );
    assert_eq!(device.asked.iter().filter(|command| command[0] == LOG_SENSE).count(), 1);
}

#[test]
fn a_sleeping_disk_is_asked_nothing_else() {
    let mut device = disk();
    (device.sense[12], device.sense[13]) = (0x5e, 0x04);
    assert_eq!(read(&mut device).unwrap(), Health::Asleep);
    assert_eq!(device.asked.len(), 1);
}

#[test]
fn unit_attentions_are_passed_over() {
    let mut device = disk();
    device.first = VecDeque::from(vec![refused_with(6, 0x29), refused_with(6, 0x2a)]);
    assert_eq!(scsi(&mut device).pages, Part::Read(6));
    device.first = VecDeque::from(vec![refused_with(6, 0x29); 5]);
    assert!(matches!(read(&mut device), Err(ReadError::Failed { .. })));
}

#[test]
fn a_page_that_fails_does_not_take_the_others_with_it() {
    let mut device = disk();
    device.pages.insert(0x03, vec![0; 64]);
    let reading = scsi(&mut device);
    // Not 2: half a sum would look like a counter that went back.
    assert!(matches!(reading.uncorrected_errors, Part::Unreadable(_)));
    assert_eq!(reading.used_percent, Part::Read(7));
}

#[test]
fn a_transport_that_fails_is_no_answer() {
    let mut device = disk();
    device.first = VecDeque::from(vec![Reply { host_status: 3, ..Reply::default() }]);
    assert!(matches!(read(&mut device), Err(ReadError::Failed { message }) if message.contains("no answer")));
}
