//! The tables as they are shipped, and an operator's overrides of them.

use std::path::Path;

use nodewell_model::{Action, Severity};

use crate::{
    Branch,
    codes::{OverrideError, Overrides},
    xid,
};

fn xids(words: &str) -> Result<super::Codes, OverrideError> {
    let path = Path::new("/etc/nodewell/xids.toml");
    let overrides = Overrides::parse(words, path)?;
    xid::Table::shipped().codes().merged(&overrides.xid, path)
}

#[test]
fn a_code_has_a_stable_reason_and_a_verdict() {
    let fallen = xid::classify(79, None).unwrap();
    assert_eq!(fallen.reason.as_str(), "GpuXid79FallenOffBus");
    assert_eq!(fallen.condition.unwrap().as_str(), "GpuUnhealthy");
    assert_eq!((fallen.severity, fallen.action), (Severity::Critical, Action::Reboot));
    // Text that only the kernel's line has decides; NVML reports the code alone.
    for by_line in [145, 154] {
        let alone = xid::classify(by_line, None).unwrap();
        assert_eq!((alone.condition.clone(), alone.severity), (None, Severity::Warn));
        assert!(alone.with_fatal(true).condition.is_some());
    }
    let page_fault = xid::classify(31, None).unwrap();
    assert_eq!((page_fault.condition, page_fault.action), (None, Action::RestartApp));
}

#[test]
fn engines_of_a_kind_are_numbered() {
    let reason = |code| xid::classify(code, None).unwrap().reason.to_string();
    assert_eq!(reason(133), "GpuXid133CopyEngine17");
    assert_eq!(reason(85), "GpuXid85CopyEngine9");
    assert_eq!(reason(105), "GpuXid105JpegEngine7");
    assert_eq!(reason(88), "GpuXid88VideoDecoder3");
    assert_eq!(reason(139), "GpuXid139OpticalFlow1");
}

#[test]
fn every_xid_up_to_173_is_in_the_table_and_others_are_events() {
    let codes = xid::Table::shipped().codes();
    assert_eq!((1..=173).filter(|code| !codes.has(*code)).collect::<Vec<_>>(), Vec::<u32>::new());
    let unlisted = xid::classify(999, None).unwrap();
    assert_eq!((unlisted.reason.as_str(), unlisted.condition), ("GpuXid999Unlisted", None));
    assert_eq!(xid::classify(0, None), None);
}

#[test]
fn what_holds_a_condition_names_an_action() {
    for meaning in xid::Table::shipped().codes().all().filter(|meaning| meaning.condition.is_some()) {
        assert!(!matches!(meaning.action, Action::None | Action::RestartApp), "{meaning:?}");
        assert!(meaning.severity >= Severity::Warn, "{meaning:?}");
    }
}

#[test]
fn a_verdict_that_the_vendor_does_not_publish_gives_its_reason() {
    for meaning in xid::Table::shipped().codes().all().filter(|meaning| meaning.condition.is_some()) {
        assert!(&*meaning.vendor != "none published" || !meaning.choice.is_empty(), "{meaning:?}");
    }
}

#[test]
fn an_operators_overrides_win_and_name_their_origin() {
    let codes = xids("[[xid]]\ncode = 63\ncondition = 'GpuUnhealthy'\naction = 'reset-gpu'").unwrap();
    let meaning = codes.classify(63, None);
    assert_eq!(meaning.condition.unwrap().as_str(), "GpuUnhealthy");
    assert_eq!((meaning.action, meaning.severity), (Action::ResetGpu, Severity::Warn));
    assert_eq!(&*meaning.table, "/etc/nodewell/xids.toml");
    assert_eq!(meaning.reason.as_str(), "GpuXid63RetirementRecorded");
    let quiet = xids("[[xid]]\ncode = 109\ncondition = 'none'").unwrap().classify(109, None);
    assert_eq!(quiet.condition, None);
}

#[test]
fn overrides_for_some_branches_leave_the_others() {
    let codes = xids("[[xid]]\ncode = 109\ncondition = 'none'\nfrom = 550\nbefore = 575").unwrap();
    let holds = |branch| codes.classify(109, branch).condition.is_some();
    assert_eq!([535, 550, 574, 575].map(|branch| holds(Some(Branch(branch)))), [true, false, false, true]);
    assert!(holds(None), "an unknown branch is the newest");
}

#[test]
fn a_new_code_gets_a_name() {
    let codes = xids("[[xid]]\ncode = 200\nname = 'NewThing'\ncondition = 'GpuFabricUnhealthy'").unwrap();
    assert_eq!(codes.classify(200, None).reason.as_str(), "GpuXid200NewThing");
    assert!(codes.named("gpuxid200newthing").is_some());
}

#[test]
fn every_error_of_a_file_is_reported() {
    let words = "[[xid]]\ncode = 79\nname = 'Other'\n[[xid]]\ncode = 200\nname = 'new thing'\n\
        [[xid]]\ncode = 62\ncondition = 'DiskUnhealthy'\n[[xid]]\ncode = 62\nfrom = 575\nbefore = 575";
    let reported = xids(words).unwrap_err();
    for (line, error) in [
        (2, "code 79: its name is fixed"),
        (5, "code 200: name takes"),
        (8, "code 62: condition takes"),
        (11, "code 62: no branch is"),
    ] {
        let placed = format!("/etc/nodewell/xids.toml:{line}: {error}");
        assert!(reported.to_string().contains(&placed), "{placed} is not in {reported}");
    }
}

#[test]
fn what_cannot_be_read_has_its_line_and_one_line_of_words() {
    for (words, line, error) in [
        ("[[xid]]\ncode = 79\nseverty = 'warn'", 3, "unknown field `severty`"),
        ("\n[[xidd]]\ncode = 79\n", 2, "unknown field `xidd`"),
        ("[[xid]]\ncode = 79\n\n[[xid]]\nseverity = 'warn'\n", 4, "missing field `code`"),
        ("[[xid]]\ncode = 79\nseverity = 'bad'\n", 3, "unknown variant `bad`"),
        ("[[xid]]\ncode = 79\ncode = 80\n", 3, "duplicate key"),
    ] {
        let found = xids(words).unwrap_err().diagnostics();
        let [diagnostic] = found.as_slice() else { panic!("{words:?}: {found:?}") };
        assert_eq!(diagnostic.line, line, "{words:?}: {diagnostic:?}");
        assert!(diagnostic.message.contains(error) && !diagnostic.message.contains('\n'), "{diagnostic:?}");
    }
}
