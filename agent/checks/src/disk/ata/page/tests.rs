use proptest::prelude::*;

use super::*;

/// With the last byte that makes the sum zero.
pub(crate) fn summed(mut block: [u8; BYTES]) -> [u8; BYTES] {
    block[511] = 0;
    block[511] = 0_u8.wrapping_sub(block.iter().fold(0, |sum, byte| sum.wrapping_add(*byte)));
    block
}

/// IDENTIFY DEVICE of a disk with SMART on and a self-test log.
pub(crate) fn identity() -> [u8; BYTES] {
    let mut block = [0; BYTES];
    let mut word = |number: usize, value: u16| block[2 * number..][..2].copy_from_slice(&value.to_le_bytes());
    for (number, value) in [(82, 1), (83, 1 << 14), (84, 1 << 14 | 0b11), (85, 1), (87, 1 << 14), (217, 1)] {
        word(number, value);
    }
    let mut string = |start: usize, text: &str| {
        for (index, byte) in text.bytes().enumerate() {
            block[start + (index ^ 1)] = byte;
        }
    };
    string(20, "  S1Z9  ");
    string(46, "FW01");
    string(54, "ACME DISK 4TB ");
    block
}

pub(crate) type Slot = (u8, u8, u8, u64);

/// SMART data of attributes (number, flags, value, raw).
pub(crate) fn data(attributes: &[Slot]) -> [u8; BYTES] {
    let mut block = [0; BYTES];
    block[0] = 16;
    for ((id, flags, value, raw), slot) in attributes.iter().zip(block[2..362].chunks_exact_mut(12)) {
        (slot[0], slot[1], slot[3], slot[4]) = (*id, *flags, *value, *value);
        slot[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
    }
    summed(block)
}

pub(crate) fn thresholds(values: &[(u8, u8)]) -> [u8; BYTES] {
    let mut block = [0; BYTES];
    block[0] = 16;
    for ((id, threshold), slot) in values.iter().zip(block[2..362].chunks_exact_mut(12)) {
        (slot[0], slot[1]) = (*id, *threshold);
    }
    summed(block)
}

/// A ring whose newest entry is at `newest`; entries are (index from one, status, hours).
pub(crate) fn self_tests(newest: u8, entries: &[(usize, u8, u16)]) -> [u8; BYTES] {
    let mut block = [0; BYTES];
    (block[0], block[508]) = (1, newest);
    for (index, status, hours) in entries {
        let entry = &mut block[2 + 24 * (index - 1)..][..24];
        (entry[0], entry[1], entry[5]) = (2, status << 4, 77);
        entry[2..4].copy_from_slice(&hours.to_le_bytes());
    }
    summed(block)
}

#[test]
fn the_identity_is_read() {
    let identify = IdentifyDevice::parse(&identity()).unwrap();
    let words =
        (identify.identity.model.as_str(), identify.identity.serial.as_str(), identify.identity.firmware.as_str());
    assert_eq!(words, ("ACME DISK 4TB", "S1Z9", "FW01"));
    assert_eq!((identify.smart, identify.is_solid_state, identify.has_self_test_log), (Smart::On, true, true));
    let smart = |change: fn(&mut [u8; BYTES])| {
        let mut block = identity();
        change(&mut block);
        IdentifyDevice::parse(&block).unwrap().smart
    };
    assert_eq!(smart(|block| block[2 * 85] = 0), Smart::Off);
    assert_eq!(smart(|block| block[2 * 82] = 0), Smart::Unsupported);
    assert_eq!(smart(|block| block[2 * 83 + 1] = 0xff), Smart::Unsupported);
}

#[test]
fn an_identity_that_carries_a_checksum_must_match_it() {
    let mut block = identity();
    block[510] = 0xa5;
    assert!(IdentifyDevice::parse(&summed(block)).is_ok());
    assert_eq!(IdentifyDevice::parse(&block), Err(PageError::Checksum { page: "disk's identity" }));
}

#[test]
fn attributes_get_their_thresholds() {
    let limits = Thresholds::parse(&thresholds(&[(5, 36), (199, 0)])).unwrap();
    let found = attributes(&data(&[(5, 0x33, 36, 0x0001_0000_0008), (199, 0x3e, 0, 2)]), Some(&limits)).unwrap();
    let first = Attribute { id: 5, is_prefailure: true, value: 36, threshold: Some(36), raw: 0x0001_0000_0008 };
    assert_eq!((found[0], found[0].is_at_threshold()), (first, true));
    assert!(!found[1].is_prefailure && !found[1].is_at_threshold());
}

#[test]
fn reserved_values_and_thresholds_are_never_reached() {
    let at = |value, threshold| Attribute { id: 1, is_prefailure: true, value, threshold, raw: 0 }.is_at_threshold();
    assert!(at(1, Some(1)) && at(50, Some(51)));
    for (value, threshold) in [(50, None), (50, Some(0)), (50, Some(254)), (0, Some(10)), (51, Some(50))] {
        assert!(!at(value, threshold), "{value} {threshold:?}");
    }
}

#[test]
fn garbage_is_no_reading() {
    for byte in [0, 0xff] {
        let blank = Err(PageError::Blank { page: "SMART data", byte });
        assert_eq!(attributes(&[byte; BYTES], None), blank);
        assert!(IdentifyDevice::parse(&[byte; BYTES]).is_err());
        assert!(Thresholds::parse(&[byte; BYTES]).is_err());
    }
    let mut damaged = data(&[(5, 1, 100, 0)]);
    damaged[7] ^= 1;
    assert_eq!(attributes(&damaged, None), Err(PageError::Checksum { page: "SMART data" }));
    assert!(self_test(&damaged).is_err());
    assert!(attributes(&damaged[..511], None).is_err());
}

#[test]
fn the_ring_of_self_tests_is_read_backwards() {
    let latest = |block: [u8; BYTES]| self_test(&block).unwrap();
    assert_eq!(latest(self_tests(0, &[])), None);
    assert_eq!(self_test(&[0; BYTES]), Ok(None));
    // The newest was aborted, the one before it stands at the ring's end.
    let found = latest(self_tests(1, &[(1, 1, 901), (21, 7, 900), (20, 0, 899)])).unwrap();
    assert_eq!((found.passed, found.at_hours, found.result.as_str()), (false, 900, "reading failed at sector 77"));
    assert!(latest(self_tests(2, &[(2, 0, 902), (1, 7, 901)])).unwrap().passed);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let blocks = [bytes.clone(), bytes.first_chunk::<BYTES>().map(|block| summed(*block).to_vec()).unwrap_or_default()];
        for block in blocks {
            let limits = Thresholds::parse(&block).ok();
            let _ = (IdentifyDevice::parse(&block), attributes(&block, limits.as_ref()), self_test(&block));
        }
    }
}
