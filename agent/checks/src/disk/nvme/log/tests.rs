use proptest::prelude::*;

use super::*;

/// A healthy disk's page, field by field as the specification lays it out.
pub(crate) fn healthy() -> [u8; HEALTH_BYTES] {
    let mut page = [0; HEALTH_BYTES];
    page[1..3].copy_from_slice(&308_u16.to_le_bytes());
    (page[3], page[4], page[5]) = (100, 10, 3);
    page[128..136].copy_from_slice(&4_321_u64.to_le_bytes());
    page[160..168].copy_from_slice(&2_u64.to_le_bytes());
    page[176..184].copy_from_slice(&7_u64.to_le_bytes());
    page
}

#[test]
fn the_health_log_is_read_field_by_field() {
    let expected = HealthLog {
        warning: 0,
        celsius: Some(35),
        spare_percent: 100,
        spare_threshold_percent: 10,
        used_percent: 3,
        power_on_hours: 4_321,
        media_errors: 2,
        error_entries: 7,
    };
    assert_eq!(HealthLog::parse(&healthy()), Ok(expected));
}

#[test]
fn blank_and_short_pages_are_no_readings() {
    for byte in [0, 0xff] {
        assert_eq!(HealthLog::parse(&[byte; HEALTH_BYTES]), Err(PageError::Blank { page: "health log", byte }));
    }
    assert_eq!(HealthLog::parse(&[1; 511]), Err(PageError::Short { page: "health log", length: 511 }));
}

#[test]
fn a_spare_of_more_than_all_is_no_reading() {
    let mut page = healthy();
    page[3] = 101;
    let absurd = PageError::Absurd { page: "health log", what: "spare", value: 101 };
    assert_eq!(HealthLog::parse(&page), Err(absurd));
}

#[test]
fn a_temperature_that_cannot_be_is_not_known() {
    for kelvin in [0_u16, 1, 232, 399, 10_000, u16::MAX] {
        let mut page = healthy();
        page[1..3].copy_from_slice(&kelvin.to_le_bytes());
        assert_eq!(HealthLog::parse(&page).unwrap().celsius, None, "{kelvin} K");
    }
}

#[test]
fn a_counter_of_128_bits_is_cut_not_wrapped() {
    let mut page = healthy();
    page[160..176].fill(0xff);
    assert_eq!(HealthLog::parse(&page).unwrap().media_errors, u64::MAX);
}

#[test]
fn identify_reports_limits_and_whether_there_are_self_tests() {
    let mut page = [0; 4096];
    page[256] = 1 << 4;
    page[262] = 63;
    page[266..268].copy_from_slice(&343_u16.to_le_bytes());
    page[268..270].copy_from_slice(&353_u16.to_le_bytes());
    let limits = Limits { warning_celsius: Some(70), critical_celsius: Some(80) };
    assert_eq!(
        IdentifyController::parse(&page),
        Ok(IdentifyController { has_self_test: true, error_log_entries: 64, limits })
    );
}

fn error(count: u64, status: u16) -> [u8; ERROR_BYTES] {
    let mut entry = [0; ERROR_BYTES];
    entry[0..8].copy_from_slice(&count.to_le_bytes());
    // With the phase tag set and "do not retry": neither is part of the status.
    entry[12..14].copy_from_slice(&(status << 1 | 1 | 1 << 15).to_le_bytes());
    entry[16..24].copy_from_slice(&99_u64.to_le_bytes());
    entry[24..28].copy_from_slice(&1_u32.to_le_bytes());
    entry
}

#[test]
fn errors_of_the_asker_are_distinguished_from_those_of_the_device() {
    let bytes = [error(9, 0x281), error(8, 0x002), error(0, 0x281), error(7, 0x285)].concat();
    let entries = errors(&bytes);
    assert_eq!(entries[0], ErrorEntry { count: 9, status: 0x281, lba: 99, namespace: 1 });
    let theirs: Vec<_> = entries.iter().map(|entry| (entry.count, entry.is_the_devices())).collect();
    assert_eq!(theirs, [(9, true), (8, false), (7, false)]);
}

/// A log whose newest entries have these results; the others are not in use.
pub(crate) fn self_tests(results: &[u8]) -> [u8; SELF_TEST_BYTES] {
    let mut page = [0; SELF_TEST_BYTES];
    for (index, entry) in page[4..].chunks_exact_mut(RESULT_BYTES).enumerate() {
        entry[0] = results.get(index).map_or(0x0f, |result| 0x20 | result);
        entry[1] = 3;
        entry[4..12].copy_from_slice(&(1000_u64 - index as u64).to_le_bytes());
    }
    page
}

#[test]
fn the_newest_test_that_came_to_an_end_counts() {
    let latest = |results: &[u8]| latest_self_test(&self_tests(results)).unwrap();
    assert_eq!(latest(&[]), None);
    assert_eq!(latest(&[1, 2]), None);
    assert_eq!(latest(&[1, 7, 0]).unwrap().result, "segment 3 failed");
    assert_eq!(latest(&[1, 7, 0]).unwrap().at_hours, 999);
    assert!(latest(&[0, 7]).unwrap().passed);
}

#[test]
fn a_log_of_zeros_is_firmware_that_never_tested() {
    assert_eq!(latest_self_test(&[0; SELF_TEST_BYTES]), Ok(None));
    let mut page = [0; SELF_TEST_BYTES];
    page[0] = 1;
    assert_eq!(latest_self_test(&page), Ok(None));
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..4200)) {
        if let Ok(health) = HealthLog::parse(&bytes) {
            prop_assert!(health.spare_percent <= 100 && health.celsius.is_none_or(|now| (-40..=125).contains(&now)));
        }
        let _ = (IdentifyController::parse(&bytes), errors(&bytes), latest_self_test(&bytes));
    }
}
