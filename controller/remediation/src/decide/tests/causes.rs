//! What the cause of a record says of the conditions that its policy asks for.

use super::*;

/// Of a node with these conditions (type, reason, message), all True since 57 s, by a policy with this `spec.when`.
fn cause(when: &str, conditions: &[(&str, &str, &str)]) -> String {
    let when = Predicate::Cel(cel::Expression::compile(when).unwrap());
    let mut snapshot = snapshot_of(0, vec![Policy { when, ..policy("p", vec![cordon()]) }]);
    let node = snapshot.nodes.get_mut("n0").unwrap();
    for (kind, reason, message) in conditions {
        set_condition(node, kind, ConditionStatus::True, reason, at(943));
        node.conditions.last_mut().unwrap().message = (*message).into();
    }
    let decision = run(&snapshot, Memory::default(), 1000);
    let [Action::Open(fence)] = &decision.actions[..] else { panic!("{:?}", decision.actions) };
    fence.spec.cause.clone()
}

/// The whole cause of a node that is ready since 1000 s, with this part.
fn whole(part: &str) -> String {
    format!("spec.when true for 0s; {part}Ready=True (KubeletReady) for 16m40s, no kubelet Lease")
}

/// A predicate that is true of `n0` alone, after it asked for these.
fn asking(types: &[&str]) -> String {
    let asked: Vec<String> = types.iter().map(|kind| format!("has(conditions.{kind})")).collect();
    format!("node.name == 'n0' && ({} || true)", asked.join(" || "))
}

#[test]
fn a_condition_is_named_however_it_is_asked_for() {
    let disk = [("DiskUnhealthy", "Ext4Error", "EXT4-fs error (device sdb): bad block")];
    let expected = whole("DiskUnhealthy=True (Ext4Error: EXT4-fs error (device sdb): bad block) for 57s, ");
    for when in [
        "has(conditions.DiskUnhealthy) && conditions.DiskUnhealthy.status == 'True'",
        "'DiskUnhealthy' in conditions && conditions['DiskUnhealthy'].status == 'True'",
        "conditions.?DiskUnhealthy.?status.orValue('') == 'True'",
        "conditions[?'DiskUnhealthy'].?status.orValue('') == 'True'",
        "has(conditions.DiskUnhealthy) && conditions.Ready.status == 'True'",
        "conditions.exists(c, c == 'DiskUnhealthy') && has(conditions.DiskUnhealthy)",
    ] {
        assert_eq!(cause(when, &disk), expected, "{when}");
    }
}

#[test]
fn three_conditions_are_named_in_the_order_of_the_predicate() {
    let when = asking(&["Delta", "Absent", "Beta", "Ready", "Delta", "Alpha", "Gamma"]);
    let all = ["Alpha", "Beta", "Gamma", "Delta"].map(|kind| (kind, "Ill", "it is ill"));
    let parts = ["Delta", "Beta", "Alpha"].map(|kind| format!("{kind}=True (Ill: it is ill) for 57s, "));
    assert_eq!(cause(&when, &all), whole(&parts.concat()));
}

#[test]
fn what_is_not_there_is_not_named() {
    assert_eq!(cause(&asking(&["DiskUnhealthy"]), &[]), whole(""));
    let other = [("OtherUnhealthy", "Ill", "it is not asked for")];
    assert_eq!(cause(&asking(&["DiskUnhealthy"]), &other), whole(""));
    assert_eq!(cause("node.name == 'n0'", &other), whole(""));
}

#[test]
fn what_a_condition_leaves_empty_is_left_out() {
    for (reason, message, why) in [("", "", ""), ("Ill", " \n", " (Ill)"), ("", "it is ill", " (it is ill)")] {
        let shown = cause(&asking(&["DiskUnhealthy"]), &[("DiskUnhealthy", reason, message)]);
        assert_eq!(shown, whole(&format!("DiskUnhealthy=True{why} for 57s, ")));
    }
}

#[test]
fn long_texts_are_cut_between_characters() {
    let disk = |message: &str| cause(&asking(&["DiskUnhealthy"]), &[("DiskUnhealthy", "Ill", message)]);
    let fits = "ä".repeat(120);
    assert_eq!(disk(&fits), whole(&format!("DiskUnhealthy=True (Ill: {fits}) for 57s, ")));
    let long = "ä".repeat(5000);
    assert_eq!(disk(&long), whole(&format!("DiskUnhealthy=True (Ill: {fits}…) for 57s, ")));
    let kinds = ["A", "B", "C"].map(|kind| kind.repeat(316));
    let kinds = kinds.each_ref().map(String::as_str);
    let widest = cause(&asking(&kinds), &kinds.map(|kind| (kind, long.as_str(), long.as_str())));
    assert!(widest.chars().count() < 4096, "{}", widest.chars().count());
    let ready = cause("node.name == 'n0'", &[("Ready", long.as_str(), "")]);
    assert!(ready.contains(&format!("Ready=True ({fits}…)")), "{ready}");
}

#[test]
fn what_drives_a_terminal_is_no_part_of_a_cause() {
    let message = "sdb\u{1b}[2Jis\nfine\u{202e}\n";
    let shown = cause(&asking(&["DiskUnhealthy"]), &[("DiskUnhealthy", "I\tll", message)]);
    assert_eq!(shown, whole("DiskUnhealthy=True (I ll: sdb [2Jis fine) for 57s, "));
}
