//! The driver's lines in all their spellings, whole and cut.

use super::{Line, Recovery};

fn parsed(text: &str) -> Option<(String, u32)> {
    Line::parse(text).map(|line| (line.address, line.code))
}

#[test]
fn every_spelling_of_the_line_is_read() {
    let cases = [
        (
            "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "0000:05:00.0",
            79,
        ),
        ("NVRM: Xid (PCI:0000:b3:00.0): 31, pid=77, Ch 00000008", "0000:b3:00.0", 31),
        ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 13, pid=1, Graphics SM Warp Exception", "0000:01:00.0", 13),
        ("NVRM: Xid (PCI:0000:3f:00): 46", "0000:3f:00.0", 46),
        ("NVRM: Xid (PCI:0000:3f:00): 154 (", "0000:3f:00.0", 154),
        ("NVRM: Xid (0000:83:00): 48, An uncorrectable double bit error", "0000:83:00.0", 48),
        ("NVRM: Xid (PCI:0000:29:00): 999, something new", "0000:29:00.0", 999),
        ("NVRM: Xid (PCI:0000:9b:00): 119\nNVRM: more in the same record", "0000:9b:00.0", 119),
    ];
    for (text, address, code) in cases {
        assert_eq!(parsed(text), Some((address.to_owned(), code)), "{text}");
    }
}

#[test]
fn what_only_looks_like_it_is_nothing() {
    let lines = [
        "NVRM: Xid (PCI:0000:66:00): abc, something",
        "NVRM: Xid (PCI:0000:66:00): , 79",
        "NVRM: Xid (PCI:0000:66:00): 79abc",
        "NVRM: Xid (PCI:0000:66:00): 0, nothing",
        "NVRM: Xid (PCI:0000:66:00): 99999999999, too large",
        "NVRM: Xid (PCI:0000:66:00)",
        "NVRM: Xid (PCI:",
        "NVRM: Xid (PCI:somewhere): 79, no address",
        "NVRM: GPU at PCI:0000:05:00: GPU-6f8e2a1c-1111-2222-3333-444455556666",
        " NVRM: Xid (PCI:0000:05:00): 79, another program's words",
        "nouveau 0000:05:00.0: fifo: fault 00 [READ]",
    ];
    for line in lines {
        assert_eq!(parsed(line), None, "{line}");
    }
}

#[test]
fn the_recovery_action_is_read_from_its_words() {
    let words = |from: &str, to: &str| format!("GPU recovery action changed from {from} to {to}");
    let cases = [
        ("0x0 (None)", "0x1 (GPU Reset Required)", Some(Recovery::GpuReset)),
        ("0x1 (GPU Reset Required)", "0x0 (None)", Some(Recovery::None)),
        ("0x1 (GPU Reset Required)", "0x2 (Node Reboot Required)", Some(Recovery::NodeReboot)),
        ("0x0 (None)", "0x3 (Drain P2P)", Some(Recovery::DrainPeers)),
        ("0x0 (None)", "0x4 (Drain and Reset)", Some(Recovery::DrainAndReset)),
        ("0x0 (None)", "0x9 (Bus Reset Required)", Some(Recovery::GpuReset)),
        ("0x0 (None)", "0x9 (Something New)", None),
        ("0x0 (None)", "0x", None),
        ("0x0 (None)", "", None),
    ];
    for (from, to, recovery) in cases {
        assert_eq!(Recovery::changed_to(&words(from, to)), recovery, "{from} → {to}");
    }
    assert_eq!(Recovery::changed_to("("), None);
}

#[test]
fn an_nvlink_report_is_only_in_xids_of_nvlink_5() {
    let line = |code| format!("NVRM: Xid (PCI:0019:01:00): {code}, RLW_REMAP Nonfatal XC1 i0 Link 12 (0x1 0x2)");
    assert!(Line::parse(&line(145)).unwrap().nvlink5().is_some());
    assert_eq!(Line::parse(&line(79)).unwrap().nvlink5(), None);
}
