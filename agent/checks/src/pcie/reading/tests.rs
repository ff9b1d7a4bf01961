use proptest::prelude::*;

use super::*;

#[test]
fn counters_are_read_in_the_words_of_old_and_new_kernels() {
    let old = parse_errors("Receiver Error 2\nBad TLP 0\nRELAY_NUM Rollover 1\nTOTAL_ERR_COR 3\n").unwrap();
    assert_eq!(old.total, 3);
    assert_eq!(old.kinds, BTreeMap::from([("Receiver Error".to_owned(), 2), ("RELAY_NUM Rollover".to_owned(), 1)]));
    let new = parse_errors("RxErr 0\nBadTLP 7\ndev_cor_errs_bit[31] 1\nTOTAL_ERR_COR 8\n").unwrap();
    assert_eq!((new.total, new.kinds["BadTLP"], new.kinds["dev_cor_errs_bit[31]"]), (8, 7, 1));
}

#[test]
fn a_total_that_is_missing_is_the_sum() {
    assert_eq!(parse_errors("BadTLP 7\nBadDLLP 2\n").unwrap().total, 9);
}

#[test]
fn what_is_no_table_of_counters_is_none() {
    for text in ["", "\n", "garbage", "BadTLP", "BadTLP many\n", "BadTLP -1\n"] {
        assert_eq!(parse_errors(text), None, "{text:?}");
    }
}

#[test]
fn speeds_are_read_as_the_kernel_writes_them() {
    let pairs = [
        ("2.5 GT/s PCIe\n", 2_500),
        ("16.0 GT/s PCIe", 16_000),
        ("64.0 GT/s PCIe", 64_000),
        ("8 GT/s", 8_000),
        ("Unknown\n", 0),
        ("Unknown speed", 0),
        ("", 0),
        ("16.0", 0),
        ("999999 GT/s", 0),
        ("-2.5 GT/s", 0),
    ];
    for (text, speed) in pairs {
        assert_eq!(parse_speed(text), speed, "{text:?}");
    }
}

#[test]
fn widths_that_no_link_has_are_unknown() {
    let pairs = [("16\n", 16), ("1", 1), ("32", 32), ("0", 0), ("63", 0), ("255", 0), ("-1", 0), ("x16", 0)];
    for (text, width) in pairs {
        assert_eq!(parse_width(text), width, "{text:?}");
    }
}

#[test]
fn graphics_and_accelerators_are_gpus() {
    for (class, is_gpu) in [(0x03_0200, true), (0x12_0000, true), (0x02_0700, false), (0x06_0400, false)] {
        assert_eq!(PcieReading { class, ..PcieReading::default() }.is_gpu(), is_gpu, "{class:06x}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_bad(text in "(?s).{0,200}", count in any::<u64>()) {
        prop_assert!(parse_speed(&text) <= 256_900 && parse_width(&text) <= 32);
        prop_assert!(parse_errors(&text).is_none_or(|errors| errors.kinds.values().all(|count| *count > 0)));
        prop_assert_eq!(parse_errors(&format!("{text}\nTOTAL_ERR_COR {count}")).unwrap().total, count);
    }
}
