use super::*;
use crate::{
    fabric::reader::tests as sysfs,
    probe::{NoAnswer, Reader},
};

#[test]
fn without_cards_nothing_is_reported_unless_ports_are_expected() {
    let gone = || Err(PollError::Read(ReadError::Gone { what: "/sys/class/infiniband".to_owned() }));
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    let round = Round { now: fabric.now(), listed: gone(), answers: Vec::new() };
    assert_eq!(fabric.judge.judge(round), Findings::default());

    let mut fabric = Fabric::new(FabricSettings { expected: vec![PORT.to_owned()], ..FabricSettings::default() });
    let mut findings = Findings::default();
    for _ in 0..30 {
        fabric.secs += 10;
        findings = fabric.judge.judge(Round { now: fabric.now(), listed: gone(), answers: Vec::new() });
    }
    assert_eq!(reported(&findings, PORT), ["FabricPortMissing"]);
}

#[test]
fn no_answer_and_garbage_are_unknown() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    let silent = || PollError::NoAnswer(NoAnswer::asked(fabric.now().wall, "no answer within 10 s"));
    let (one, all, now) = (silent(), silent(), fabric.now());
    for (bad, word) in
        [(Err(one), "DeviceNotAnswering"), (Ok(serde_json::json!({"state": -1}).into()), "DeviceUnreadable")]
    {
        let answers = vec![(PORT.to_owned(), bad)];
        let findings = fabric.judge.judge(Round { now: now.clone(), listed: Ok(vec![PORT.to_owned()]), answers });
        assert_eq!(reported(&findings, PORT), [format!("Unknown: {word}")]);
    }
    let findings = fabric.judge.judge(Round { now, listed: Err(all), answers: Vec::new() });
    assert_eq!(reported(&findings, PORT), ["Unknown: DeviceNotAnswering"]);
    assert!(is_healthy(&fabric.after(10)));
}

#[test]
fn an_ignored_port_is_not_named() {
    let mut fabric = Fabric::new(FabricSettings { ignore: vec!["mlx5_*".to_owned()], ..FabricSettings::default() });
    assert_eq!(fabric.after(0), Findings::default());
}

#[test]
fn nothing_is_saved_again_while_nothing_happens() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    assert!(fabric.judge.save().is_some());
    fabric.during(600);
    assert_eq!(fabric.judge.save(), None);
}

#[test]
fn what_another_version_saved_is_forgotten() {
    let mut fabric = Fabric::ordinary();
    for saved in [Value::Null, serde_json::json!([1]), serde_json::json!({"ports": {"x": 1}})] {
        fabric.judge.load(saved);
    }
    assert!(is_healthy(&fabric.after(0)));
}

/// Reader and judge together, on a tree of files.
#[test]
fn a_port_that_goes_down_in_sysfs_becomes_a_verdict_and_then_its_card_goes() {
    let tree = sysfs::Tree::new();
    tree.card("mlx5_0", "0000:18:00.0").port(PORT, &sysfs::UP);
    let (mut reader, mut fabric) = (tree.reader(), Fabric::ordinary());
    let mut during = |secs: u64| {
        let mut findings = Findings::default();
        for _ in 0..secs / 10 {
            fabric.secs += 10;
            let names = reader.list().unwrap();
            let answers = names.iter().map(|name| (name.clone(), reader.read(name).map_err(PollError::Read))).collect();
            findings = fabric.judge.judge(Round { now: fabric.now(), listed: Ok(names), answers });
        }
        findings
    };
    assert_eq!(reported(&during(10), PORT), ["healthy: 400 Gb/sec (4X NDR), card 0000:18:00.0"]);
    tree.port(PORT, &[("state", "1: DOWN"), ("phys_state", "2: Polling"), ("rate", "2.5 Gb/sec (1X SDR)")]);
    let findings = during(260);
    assert_eq!(reported(&findings, PORT), ["FabricPortDown"]);
    assert_eq!(
        message(&findings),
        "down (polling: no partner); check cable, transceiver and the switch's port (card 0000:18:00.0)"
    );
    tree.remove("mlx5_0");
    assert_eq!(reported(&during(260), PORT), ["FabricPortMissing"]);
}

#[test]
fn without_a_list_all_is_unknown_and_counted_until_there_is_one() {
    for (error, reason) in crate::probe::unknown::tests::poll_errors() {
        let mut fabric = Fabric::ordinary();
        let before = fabric.after(0);
        let findings = fabric.judge.judge(Round { now: fabric.now(), listed: Err(error), answers: Vec::new() });
        assert_eq!(reported(&findings, PORT), [format!("Unknown: {reason}")]);
        assert_eq!(findings.hardware[0].total, before.hardware[0].total);
        assert!(is_healthy(&fabric.after(10)));
    }
}
