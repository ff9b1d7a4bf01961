//! What drivers count of their own: shown as it was read last, and no evidence on a port.

use super::*;
use crate::probe::NoAnswer;

/// One counter of a port, as a reading has it.
fn counter(name: &str, count: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([(name.to_owned(), count)])
}

/// A line for each counter that is shown.
fn shown(fabric: &Fabric) -> Vec<String> {
    let view = fabric.judge.hw_counters().unwrap();
    let lines = view.shown.iter().flat_map(|one| {
        let port = one.port.as_ref().map_or_else(String::new, |port| format!("/{port}"));
        one.counters.iter().map(move |(name, count)| format!("{}{port} {name} {count}", one.device))
    });
    lines.collect()
}

/// An answer to the next question, ten seconds later.
fn answer(fabric: &mut Fabric, answer: Answer) {
    fabric.secs += 10;
    let listed = Ok(fabric.ports.keys().cloned().collect());
    let round = Round { now: fabric.now(), listed, answers: vec![(PORT.to_owned(), answer)] };
    fabric.judge.judge(round);
}

#[test]
fn they_are_shown_and_hold_no_verdict_however_fast_they_grow() {
    let mut fabric = Fabric::ethernet();
    fabric.after(0);
    assert_eq!(shown(&fabric), [""; 0]);
    for round in 1..=400 {
        fabric.port().hw_counters = counter("local_ack_timeout_err", round * 1_000_000);
        fabric.port().card_hw_counters = counter("no_completion_cmds", round * 1_000_000);
        assert!(is_healthy(&fabric.after(10)), "round {round}");
    }
    assert_eq!(shown(&fabric), ["mlx5_0/1 local_ack_timeout_err 400000000", "mlx5_0 no_completion_cmds 400000000"]);
    fabric.port().hw_counters = counter("local_ack_timeout_err", 0);
    assert!(is_healthy(&fabric.after(10)), "the driver was loaded again");
}

#[test]
fn those_of_a_card_are_shown_once_by_whichever_port_has_them() {
    let mut fabric = Fabric::ordinary();
    let card_hw_counters = counter("cmds_err", 3);
    let second = PortReading { hw_counters: counter("rx_drops", 2), ..fabric.port().clone() };
    *fabric.port() = PortReading { card_hw_counters, hw_counters: counter("rx_drops", 1), ..second.clone() };
    fabric.ports.insert("mlx5_0/2".to_owned(), second);
    fabric.after(0);
    assert_eq!(shown(&fabric), ["mlx5_0/1 rx_drops 1", "mlx5_0/2 rx_drops 2", "mlx5_0 cmds_err 3"]);
}

#[test]
fn what_is_not_read_any_more_is_not_shown() {
    let mut fabric = Fabric::ordinary();
    fabric.port().hw_counters = counter("out_of_buffer", 7);
    let reading = RawReading::of(&fabric.ports[PORT]).unwrap();
    let silent = || PollError::NoAnswer(NoAnswer::asked(Timestamp::UNIX_EPOCH, "no answer within 10 s"));
    let gone = || PollError::Read(ReadError::Gone { what: PORT.to_owned() });
    for error in [silent(), gone()] {
        answer(&mut fabric, Ok(reading.clone()));
        assert_eq!(shown(&fabric), ["mlx5_0/1 out_of_buffer 7"]);
        answer(&mut fabric, Err(error));
        assert_eq!(shown(&fabric), [""; 0]);
    }
    answer(&mut fabric, Ok(reading.clone()));
    answer(&mut fabric, Ok(serde_json::json!({"state": -1}).into()));
    assert_eq!(shown(&fabric), [""; 0]);
    answer(&mut fabric, Ok(reading));
    fabric.judge.judge(Round { now: fabric.now(), listed: Err(silent()), answers: Vec::new() });
    assert_eq!(shown(&fabric), [""; 0]);

    fabric.after(10);
    assert_eq!(shown(&fabric), ["mlx5_0/1 out_of_buffer 7"]);
    fabric.ports.clear();
    fabric.after(10);
    assert_eq!(shown(&fabric), [""; 0]);
}

/// A round that ended early asked others, whose devices hang.
#[test]
fn a_port_that_was_not_asked_is_as_it_was() {
    let mut fabric = Fabric::ordinary();
    fabric.port().hw_counters = counter("out_of_buffer", 7);
    fabric.after(0);
    fabric.judge.judge(Round { now: fabric.now(), listed: Ok(vec![PORT.to_owned()]), answers: Vec::new() });
    assert_eq!(shown(&fabric), ["mlx5_0/1 out_of_buffer 7"]);
}

#[test]
fn an_ignored_port_shows_none() {
    let mut fabric = Fabric::new(FabricSettings { ignore: vec!["mlx5_*".to_owned()], ..FabricSettings::default() });
    fabric.port().hw_counters = counter("out_of_buffer", 7);
    fabric.after(0);
    assert_eq!(shown(&fabric), [""; 0]);
}

/// With an interval of 10 s, for 80 s.
#[test]
fn they_are_valid_until_two_rounds_are_missed_and_a_minute_more() {
    let mut fabric = Fabric::ordinary();
    fabric.after(5);
    assert_eq!(fabric.judge.hw_counters().unwrap().valid_until_secs, fabric.secs + 80);
}

#[test]
fn more_ports_than_any_node_has_are_counted() {
    let mut fabric = Fabric::ordinary();
    fabric.port().hw_counters = counter("out_of_buffer", 7);
    let port = fabric.port().clone();
    fabric.ports = (0..200).map(|n| (format!("mlx5_{n}/1"), port.clone())).collect();
    fabric.after(0);
    let view = fabric.judge.hw_counters().unwrap();
    assert_eq!((view.shown.len(), view.left_out), (128, 72));
}

#[test]
fn they_are_not_saved() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    assert!(fabric.judge.save().is_some());
    fabric.port().hw_counters = counter("out_of_buffer", 7);
    fabric.during(600);
    assert_eq!(fabric.judge.save(), None);
}
