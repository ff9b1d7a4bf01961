//! The table of units against lines of both kinds of drivers.

use nodewell_model::Action;

use super::{Report, look_up, table};
use crate::Branch;

const OLD: Option<Branch> = Some(Branch(570));
const NEW: Option<Branch> = Some(Branch(580));

fn report(rest: &str) -> Report<'_> {
    Report::parse(rest).unwrap()
}

#[test]
fn a_report_is_read_whatever_the_process_is_called() {
    let plain = report("RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000)");
    assert_eq!((plain.unit, plain.is_fatal, plain.link), ("RLW_SRC_TRACK", false, Some(12)));
    assert_eq!((plain.info, plain.status), (Some(0x0409_88e2), Some(8)));
    let named =
        report("pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x0)");
    assert_eq!((named.unit, named.link, named.info), ("RLW_RXPIPE", Some(13), Some(0x0409_a0c2)));
    let unknown = report("pid='<unknown>', name=<unknown>, TLW_RX_PIPE0 Fatal XC0 i1 Link 3 (0x00000143 0x00000004)");
    assert_eq!((unknown.unit, unknown.is_fatal), ("TLW_RX_PIPE0", true));
    let hostile = report("pid=1, name=A Fatal, RLW_REMAP Nonfatal XC0 i0 Link 1 (0x00000082 0x00000001)");
    assert_eq!((hostile.unit, hostile.is_fatal), ("RLW_REMAP", false));
}

#[test]
fn the_chip_itself_is_link_minus_one() {
    let chip = report("NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0 0x0)");
    assert_eq!((chip.link, chip.info, chip.status), (Some(-1), Some(0x000f_e406), Some(0)));
}

#[test]
fn what_is_cut_is_read_as_far_as_it_goes() {
    let cut = report("NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x0045");
    assert_eq!((cut.unit, cut.is_fatal, cut.info, cut.status), ("NETIR_LINK_EVT", true, Some(0x45), None));
    assert_eq!(look_up(149, &cut, OLD), None);
    assert_eq!(report("MSE_WATCHDOG Fatal").info, None);
    for nothing in ["", "Fatal", "something else", "lower Fatal XC0"] {
        assert_eq!(Report::parse(nothing), None, "{nothing}");
    }
}

fn bucket(code: u32, rest: &str, branch: Option<Branch>) -> Option<(bool, &'static str)> {
    look_up(code, &report(rest), branch).map(|verdict| (verdict.fatal, verdict.now.as_str()))
}

#[test]
fn old_and_new_drivers_lay_the_information_out_differently() {
    let old = "RLW_REMAP Nonfatal XC0 i0 Link 1 (0x04098082 0x00000040 0x0)";
    let new = "RLW_REMAP Nonfatal XC0 i0 Link 1 (0x04098004 0x00000040 0x0)";
    let reset = Some((true, "RESET_GPU"));
    assert_eq!((bucket(145, old, OLD), bucket(145, new, NEW)), (reset, reset));
    assert_eq!((bucket(145, old, NEW), bucket(145, new, OLD)), (None, None));
    assert_eq!((bucket(145, old, None), bucket(145, new, None)), (reset, reset));
}

#[test]
fn the_link_events_subcode_counts() {
    let cartridge = report("NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x004525c6 0x0 0x0)");
    let verdict = look_up(149, &cartridge, OLD).unwrap();
    assert_eq!((verdict.fatal, verdict.action()), (true, Some(Action::InspectHardware)));
    let other = report("NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x002525c6 0x0 0x0)");
    assert_eq!(look_up(149, &other, OLD).unwrap().action(), Some(Action::ResetGpu));
    let unheard_of = report("NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x03f525c6 0x0 0x0)");
    assert_eq!(look_up(149, &unheard_of, OLD), None);
}

#[test]
fn statuses_decide_within_a_unit() {
    let track = |status| format!("RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 {status})");
    assert_eq!(bucket(145, &track("0x00000008"), OLD), Some((false, "XID_154_EVAL")));
    assert_eq!(bucket(145, &track("0x00000001"), OLD), Some((true, "RESET_GPU")));
    assert_eq!(bucket(145, &track("0x80000000"), OLD), Some((false, "IGNORE")));
    assert_eq!(bucket(145, &track("0x00000040"), OLD), None);
    assert_eq!(bucket(146, &track("0x00000008"), OLD), None, "the unit is another Xid's");
}

#[test]
fn no_two_rows_of_the_table_speak_of_the_same() {
    let mut seen = std::collections::BTreeSet::new();
    for unit in &table().unit {
        assert!((144..=150).contains(&unit.xid) && unit.before <= 0x3ff && unit.from <= 0x7f, "{unit:?}");
        for verdict in &unit.verdicts {
            for status in &verdict.status {
                for subcode in &verdict.subcode {
                    assert!(seen.insert((unit.from, *status, *subcode)), "{unit:?} {status:#x} {subcode}");
                }
            }
        }
    }
}
