use proptest::prelude::*;

use super::*;

/// What libata answers to SMART RETURN STATUS with "check condition" set: descriptor format, seen on QEMU's AHCI disk.
const PASSED: [u8; 22] =
    [0x72, 0x01, 0x00, 0x1d, 0, 0, 0, 0x0e, 0x09, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0x50];

#[test]
fn registers_are_found_in_the_descriptor_format() {
    let sense = Sense::parse(&PASSED).unwrap();
    assert_eq!((sense.key, sense.code, sense.qualifier), (1, 0, 0x1d));
    let registers = Registers { error: 0, status: 0x50, count: 0, lba_middle: 0x4f, lba_high: 0xc2 };
    assert_eq!(sense.ata, Some(registers));
    assert!(sense.is_no_error() && !sense.is_unknown_command() && !sense.is_asleep());
}

#[test]
fn registers_are_found_in_the_fixed_format() {
    let bytes = [0x70, 0, 1, 0, 0x50, 0, 0xff, 0x0a, 0, 0, 0xf4, 0x2c, 0x00, 0x1d];
    let registers = Registers { error: 0, status: 0x50, count: 0xff, lba_middle: 0xf4, lba_high: 0x2c };
    assert_eq!(Sense::parse(&bytes).unwrap().ata, Some(registers));
    // Without the code for it these bytes mean something else.
    let other = [0x70, 0, 5, 0, 0, 0, 0, 0x0a, 0, 0, 0, 0, 0x20, 0x00];
    let sense = Sense::parse(&other).unwrap();
    assert_eq!(sense.ata, None);
    assert!(sense.is_unknown_command());
    assert_eq!(sense.to_string(), "sense 5/20/00");
}

#[test]
fn an_aborted_ata_command_is_one_that_the_disk_does_not_know() {
    let mut aborted = PASSED;
    (aborted[1], aborted[11], aborted[21]) = (0x0b, 0x04, 0x51);
    assert!(Sense::parse(&aborted).unwrap().is_unknown_command());
    aborted[11] = 0x40;
    assert!(!Sense::parse(&aborted).unwrap().is_unknown_command());
}

#[test]
fn standby_and_stopped_are_sleep_and_idle_is_not() {
    let sense = |key, code, qualifier| {
        Sense::parse(&[0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code, qualifier]).unwrap().is_asleep()
    };
    assert!(sense(0, 0x5e, 0x02) && sense(0, 0x5e, 0x04) && sense(0, 0x5e, 0x09) && sense(2, 0x04, 0x02));
    assert!(!sense(0, 0x5e, 0x01) && !sense(0, 0x5e, 0x41) && !sense(2, 0x04, 0x01) && !sense(0, 0, 0));
}

#[test]
fn what_is_cut_off_or_no_sense_is_none() {
    assert_eq!(Sense::parse(&[]), None);
    assert_eq!(Sense::parse(&[0; 18]), None);
    assert_eq!(Sense::parse(&PASSED[..7]), None);
    // The descriptor is cut: the codes are still there.
    assert_eq!(Sense::parse(&PASSED[..20]).unwrap().ata, None);
    // Sense data of an earlier command (71h) is not about this one.
    assert_eq!(Sense::parse(&[0x71, 0, 3, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x11, 0]), None);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..260)) {
        let _ = Sense::parse(&bytes);
    }
}
