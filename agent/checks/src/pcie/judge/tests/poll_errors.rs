use super::*;
use crate::probe::NoAnswer;

#[test]
fn what_does_not_parse_or_is_refused_is_unknown_and_the_others_go_on() {
    let mut bus = Bus::new();
    bus.after(0);
    let denied = Err(PollError::Read(ReadError::Denied { message: "config".to_owned() }));
    let unreadable = "DeviceUnreadable";
    for (bad, reason) in [
        (Ok(Value::Null.into()), unreadable),
        (Ok(serde_json::json!({"id": 7}).into()), unreadable),
        (denied, "PermissionDenied"),
    ] {
        let (mut answers, now) = (bus.answers(), bus.now());
        answers.retain(|(name, _)| name == PORT);
        answers.push((CARD.to_owned(), bad));
        let listed = Ok(vec![PORT.to_owned(), CARD.to_owned()]);
        let findings = bus.judge.judge(Round { now, listed, answers });
        assert_eq!(reasons(&findings, CARD), [format!("Unknown: {reason}")]);
        assert!(reasons(&findings, PORT).is_empty());
        assert_eq!(findings.hardware[0].states, BTreeMap::from([("not answering".to_owned(), 1)]));
    }
    assert!(reasons(&bus.after(60), CARD).is_empty());
}

#[test]
fn no_answer_is_unknown_for_the_one_or_for_all() {
    let mut bus = Bus::new();
    bus.after(0);
    let silent = || PollError::NoAnswer(NoAnswer::asked(bus.now().wall, "no answer within 10 s"));
    let (poll_error, all, now) = (silent(), silent(), bus.now());
    let listed = Ok(vec![PORT.to_owned(), CARD.to_owned()]);
    let answers = vec![(CARD.to_owned(), Err(poll_error))];
    let findings = bus.judge.judge(Round { now: now.clone(), listed, answers });
    assert_eq!(reasons(&findings, CARD), ["Unknown: DeviceNotAnswering"]);
    assert!(reasons(&findings, PORT).is_empty());
    let findings = bus.judge.judge(Round { now, listed: Err(all), answers: Vec::new() });
    assert_eq!(reasons(&findings, PORT), ["Unknown: DeviceNotAnswering"]);
}

#[test]
fn without_a_bus_nothing_is_reported() {
    let mut bus = Bus::new();
    bus.after(0);
    let gone = Err(PollError::Read(ReadError::Gone { what: "/sys/bus/pci/devices".to_owned() }));
    assert_eq!(bus.judge.judge(Round { now: bus.now(), listed: gone, answers: Vec::new() }), Findings::default());
}

#[test]
fn a_machine_without_pci_express_counts_no_devices() {
    let mut bus = Bus::new();
    bus.devices.clear();
    assert_eq!(bus.after(0), Findings::default());
}

#[test]
fn an_ignored_device_is_not_named() {
    let mut bus = Bus::new();
    bus.judge = PcieJudge::new(PcieSettings { ignore: vec!["0000:01:*".to_owned()], ..PcieSettings::default() });
    let findings = bus.after(0);
    assert_eq!(findings.verdicts.len(), 1);
    assert_eq!(findings.verdicts[0].subject, PORT);
}

#[test]
fn nothing_is_saved_again_while_nothing_happens() {
    let mut bus = Bus::new();
    bus.card().aer = correctable(7);
    bus.after(0);
    assert!(bus.judge.save().is_some());
    bus.after(60);
    assert_eq!(bus.judge.save(), None);
    bus.card().aer = correctable(8);
    bus.after(60);
    assert!(bus.judge.save().is_some());
}

#[test]
fn what_another_version_saved_is_forgotten() {
    let mut bus = Bus::new();
    for saved in [Value::Null, serde_json::json!([1]), serde_json::json!({"devices": {"x": 1}})] {
        bus.judge.load(saved);
    }
    assert!(reasons(&bus.after(0), CARD).is_empty());
}

#[test]
fn without_a_list_all_is_unknown_and_counted_until_there_is_one() {
    for (poll_error, reason) in crate::probe::unknown::tests::poll_errors() {
        let mut bus = Bus::new();
        let before = bus.after(0);
        let findings = bus.judge.judge(Round { now: bus.now(), listed: Err(poll_error), answers: Vec::new() });
        assert_eq!(reasons(&findings, CARD), [format!("Unknown: {reason}")]);
        assert_eq!(findings.hardware[0].total, before.hardware[0].total);
        assert!(reasons(&bus.after(60), CARD).is_empty());
    }
}
