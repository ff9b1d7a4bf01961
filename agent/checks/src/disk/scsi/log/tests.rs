use proptest::prelude::*;

use super::*;

/// A page of parameters: code and bytes.
pub(crate) fn page(code: u8, parameters: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (number, bytes) in parameters {
        body.extend(number.to_be_bytes());
        body.extend([0x03, u8::try_from(bytes.len()).unwrap()]);
        body.extend(*bytes);
    }
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    [&[code, 0, length[0], length[1]], body.as_slice()].concat()
}

fn parsed(code: u8, parameters: &[(u16, &[u8])]) -> LogPage {
    LogPage::parse(code, &page(code, parameters)).unwrap()
}

#[test]
fn parameters_are_found_behind_others_of_any_length() {
    let errors = parsed(0x03, &[(0, &[0; 4]), (5, &[1, 2, 3, 4, 5, 6, 7, 8]), (6, &[0, 1, 0])]);
    assert_eq!(errors.uncorrected_errors(), Some(256));
    assert_eq!(parsed(0x03, &[(5, &[1])]).uncorrected_errors(), None);
    assert_eq!(parsed(0x03, &[(6, &[0xff; 8])]).uncorrected_errors(), None);
}

#[test]
fn predictions_temperatures_and_wear_are_read() {
    assert_eq!(parsed(0x2f, &[(0, &[0x5d, 0x10, 41])]).predicted(), Some(Predicted { code: 0x5d, qualifier: 0x10 }));
    let heat = |now, limit| parsed(0x0d, &[(0, &[0, now]), (1, &[0, limit])]).temperature().unwrap();
    assert_eq!(heat(41, 65), Temperature { celsius: Some(41), limit_celsius: Some(65) });
    assert_eq!(heat(0xff, 0), Temperature { celsius: None, limit_celsius: None });
    assert_eq!(parsed(0x11, &[(1, &[0, 0, 0, 104])]).used_percent(), Some(104));
}

#[test]
fn the_newest_ended_self_test_counts() {
    let entry = |result: u8, hours: u16| {
        let mut bytes = [0; 16];
        bytes[0] = 0x20 | result;
        bytes[2..4].copy_from_slice(&hours.to_be_bytes());
        bytes
    };
    let page = parsed(0x10, &[(1, &entry(15, 0)), (2, &entry(1, 900)), (3, &entry(7, 800)), (4, &entry(0, 700))]);
    let found = page.self_test().unwrap();
    assert_eq!((found.passed, found.at_hours), (false, 800));
    assert_eq!(parsed(0x10, &[(1, &[0; 16])]).self_test(), None);
}

#[test]
fn what_is_not_the_page_that_was_asked_for_is_none() {
    assert!(matches!(LogPage::parse(0x2f, &[0; 512]), Err(PageError::Absurd { .. })));
    assert!(LogPage::parse(0x2f, &[0xff; 512]).is_err());
    assert!(matches!(LogPage::parse(0x2f, &[0x2f, 0]), Err(PageError::Short { .. })));
    // A length that is longer than what came: what came is read.
    let mut cut = page(0x0d, &[(0, &[0, 30]), (1, &[0, 60])]);
    cut.truncate(12);
    let read = LogPage::parse(0x0d, &cut).unwrap().temperature().unwrap();
    assert_eq!(read, Temperature { celsius: Some(30), limit_celsius: None });
}

#[test]
fn defects_are_counted_in_the_format_that_the_disk_chose() {
    let header = |format: u8| [0, 0x08 | format, 0, 0, 0, 0, 0, 80];
    assert_eq!(grown_defects(&header(5)), Ok(10));
    assert_eq!(grown_defects(&header(0)), Ok(20));
    assert!(grown_defects(&header(6)).is_err());
    assert!(grown_defects(&[0; 7]).is_err());
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(code in 0_u8..0x40, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = code;
        }
        if let Ok(page) = LogPage::parse(code, &bytes) {
            let _ = (page.predicted(), page.temperature(), page.uncorrected_errors(), page.used_percent(), page.self_test());
        }
        let _ = grown_defects(&bytes);
    }
}
