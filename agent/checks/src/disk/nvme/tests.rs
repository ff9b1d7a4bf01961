use std::{collections::BTreeMap, fs, io};

use super::{log::tests::healthy, *};

/// A controller that has the pages it was given and answers "invalid log page" to all others.
#[derive(Default)]
struct Scripted {
    pages: BTreeMap<u8, Vec<u8>>,
    about: Option<[u8; 4096]>,
    asked: Vec<u8>,
    refuses: Option<i32>,
    identify_fails: bool,
}

impl Controller for Scripted {
    fn log(&mut self, page: u8, into: &mut [u8]) -> Result<(), AdminError> {
        assert!(!into.is_empty(), "an empty buffer for page {page}");
        self.asked.push(page);
        if let Some(errno) = self.refuses {
            return Err(io::Error::from_raw_os_error(errno).into());
        }
        let bytes = self.pages.get(&page).ok_or(AdminError::Status(0x4109))?;
        into.copy_from_slice(&bytes[..into.len()]);
        Ok(())
    }

    fn identify(&mut self, into: &mut [u8; 4096]) -> Result<(), AdminError> {
        if self.identify_fails {
            return Err(io::Error::from_raw_os_error(libc::EIO).into());
        }
        *into = self.about.ok_or(AdminError::Status(0x4002))?;
        Ok(())
    }
}

fn with_health(page: [u8; 512]) -> Scripted {
    Scripted { pages: BTreeMap::from([(HEALTH_LOG, page.to_vec())]), ..Scripted::default() }
}

#[test]
fn a_controller_that_knows_only_the_health_log_is_asked_no_more() {
    let mut page = healthy();
    page[176] = 0;
    let mut device = with_health(page);
    let reading = ask(&mut device, "any").unwrap();
    assert_eq!(reading.health.read().unwrap().spare_percent, 100);
    assert_eq!((reading.errors, reading.self_test), (Part::Read(Vec::new()), Part::Absent));
    assert_eq!(device.asked, [HEALTH_LOG]);
}

#[test]
fn a_blank_page_is_unreadable_but_a_network_volume_has_none() {
    let blank = || with_health([0; 512]);
    assert!(matches!(ask(&mut blank(), "QEMU NVMe Ctrl").unwrap().health, Part::Unreadable(_)));
    assert_eq!(ask(&mut blank(), "Amazon Elastic Block Store").unwrap().health, Part::Absent);
    assert!(matches!(ask(&mut with_health([0xff; 512]), "nvme_card-pd").unwrap().health, Part::Unreadable(_)));
}

#[test]
fn refusals_are_distinguished() {
    let refusing = |errno| ask(&mut Scripted { refuses: Some(errno), ..Scripted::default() }, "any");
    assert!(matches!(refusing(libc::EACCES).unwrap().health, Part::Denied(why) if why.contains("CAP_SYS_ADMIN")));
    assert!(matches!(refusing(libc::EIO).unwrap().health, Part::Unreadable(_)));
    assert_eq!(refusing(libc::ENOTTY).unwrap().health, Part::Absent);
    assert!(matches!(refusing(libc::ENODEV), Err(ReadError::Gone { .. })));
}

#[test]
fn a_controller_that_is_not_live_is_not_asked() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/class/nvme/nvme3");
    fs::create_dir_all(&folder).unwrap();
    for (name, word) in [("state", "dead\n"), ("model", "KXG60ZNV  \n"), ("serial", "  X1 \n")] {
        fs::write(folder.join(name), word).unwrap();
    }
    let roots = Roots { sys: root.path().join("sys"), dev: root.path().join("dev"), ..Roots::default() };
    let (identity, reading) = read(&roots, "nvme3").unwrap();
    assert_eq!((identity.model.as_str(), identity.serial.as_str()), ("KXG60ZNV", "X1"));
    assert_eq!((reading.state.as_str(), reading.health), ("dead", Part::Absent));
    // A live one has a device node.
    fs::write(folder.join("state"), "live\n").unwrap();
    assert!(matches!(read(&roots, "nvme3"), Err(ReadError::Gone { .. })));
}

#[test]
fn a_controller_that_does_not_report_how_long_its_error_log_is_is_asked_for_one_entry() {
    let mut page = healthy();
    page[176] = 1;
    let mut device = with_health(page);
    // One entry is all there is: asking for more would fail here.
    device.pages.insert(ERROR_LOG, vec![0; log::ERROR_BYTES]);
    let reading = ask(&mut device, "any").unwrap();
    assert_eq!((reading.errors, device.asked), (Part::Read(Vec::new()), vec![HEALTH_LOG, ERROR_LOG]));
}

#[test]
fn a_failed_identify_leaves_open_what_hangs_on_it_and_takes_nothing_else() {
    let mut page = healthy();
    page[176] = 0;
    let mut device = Scripted { identify_fails: true, ..with_health(page) };
    let reading = ask(&mut device, "any").unwrap();
    assert!(reading.self_test.is_lost() && reading.limits.is_lost());
    assert_eq!(reading.health.read().unwrap().spare_percent, 100);
}
