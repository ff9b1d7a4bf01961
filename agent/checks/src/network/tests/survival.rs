//! Whatever is read, whenever: one sound account.

use crate::probe::{NoAnswer, RawReading, ReadError};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn a_machine_without_network_classes_reports_nothing() {
    let mut machine = Machine::new();
    fs::remove_dir_all(machine.root.path().join("sys")).unwrap();
    assert_eq!(machine.during(600), Findings::default());
}

#[test]
fn a_reader_that_hangs_leaves_everything_unknown() {
    let mut machine = Machine::new();
    machine.after(0);
    let no_answer = NoAnswer::asked(Timestamp::UNIX_EPOCH, "no answer within 10 s");
    let (now, listed) = (machine.now(), Ok(vec![LINKS.to_owned()]));
    let answers = vec![(LINKS.to_owned(), Err(PollError::NoAnswer(no_answer)))];
    let findings = machine.judge.judge(Round { now, listed, answers });
    for subject in ["eth0", "default-route"] {
        assert_eq!(reported(&findings, subject), ["Unknown: DeviceNotAnswering"]);
    }
    assert_eq!(findings.hardware[0].states.get("not answering"), Some(&1));
    assert!(is_silent(&machine.after(15)));
}

#[test]
fn files_of_garbage_are_no_faults() {
    let mut machine = Machine::new();
    machine.after(0);
    for (_, file) in [("", "flags"), ("", "carrier"), ("", "speed"), ("", "mtu"), ("", "carrier_down_count")] {
        machine.set("eth0", file, "\u{0}\u{fffd}-99999999999999999999x");
    }
    machine.count("eth0", "rx_errors", 3).file("sys/class/net/eth0/statistics/rx_errors", "garbage");
    machine.file("sys/class/net/bonding_masters", "bond0\n").file("sys/class/net/eth0/uevent", "DEVTYPE");
    fs::create_dir_all(machine.home("broken/bonding")).unwrap();
    assert!(is_silent(&machine.during(600)));
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let mut machine = Machine::new();
    machine.during(60);
    assert!(machine.judge.save().is_some());
    for packets in 1..50 {
        machine.count("eth0", "rx_packets", packets * 1_000).after(15);
        assert_eq!(machine.judge.save(), None);
    }
}

#[test]
fn what_an_older_version_saved_and_this_one_does_not_understand_is_forgotten() {
    let mut machine = Machine::new();
    for saved in [json!(null), json!([1]), json!({"links": 7}), json!({"boot_id": "one", "links": {"eth0": {}}})] {
        machine.judge.load(saved);
        assert!(is_silent(&machine.during(60)));
    }
}

fn any_reading() -> impl Strategy<Value = Value> {
    let counter = || prop_oneof![any::<u64>(), 0_u64..3_000, Just(u64::MAX)];
    let link = (
        any::<[bool; 5]>(),
        prop::option::of(counter()),
        prop::option::of(any::<u32>()),
        [counter(), counter(), counter()],
    );
    let link = link.prop_map(|(is, downs, megabits, [packets, errors, missed])| {
        json!({
            "is_wanted": is[0], "has_carrier": is[1], "is_used": is[2], "is_bonded": is[3], "is_fabric": is[4], "downs": downs,
            "megabits": megabits, "counters": {"packets": packets, "errors": errors, "missed": missed, "kinds": {"rx_crc_errors": errors}},
        })
    });
    let slave = (any::<bool>(), prop::option::of(0_u32..3), prop::option::of(any::<u32>()));
    let slave = slave.prop_map(|(up, aggregator, actor)| json!({"monitor": if up { "up" } else { "down" }, "aggregator": aggregator, "actor": actor}));
    let slaves = prop::collection::btree_map("eth[0-3]", slave, 0..3);
    let bond =
        slaves.prop_map(|slaves| json!({"is_wanted": true, "mode": "802.3ad", "aggregator": 1, "slaves": slaves}));
    let tunnel =
        (any::<u32>(), any::<u32>()).prop_map(|(mtu, lower)| json!({"mtu": mtu, "lower": "eth0", "lower_mtu": lower}));
    let some = |name| prop::collection::btree_set(name, 0..2);
    (
        prop::collection::btree_map("eth[0-3]|bond0", link, 0..4),
        prop::option::of(bond),
        prop::option::of(tunnel),
        some("eth[0-3]"),
    )
        .prop_map(|(interfaces, bond, tunnel, routes)| {
            let named = |name: &str, value: Option<Value>| value.map_or(json!({}), |value| json!({name: value}));
            json!({
                "interfaces": interfaces, "bonds": named("bond0", bond), "tunnels": named("flannel.1", tunnel),
                "routes": {"ipv4": routes, "ipv6": null},
            })
        })
}

fn any_answer() -> impl Strategy<Value = Result<Value, PollError>> {
    let failed = PollError::Read(ReadError::Failed { message: "EIO".to_owned() });
    prop_oneof![8 => any_reading().prop_map(Ok), 1 => Just(Err(failed)), 1 => Just(Ok(json!({"interfaces": [7]})))]
}

proptest! {
    // Each makes a tree of files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any readings at any times, also across restarts: every subject has one verdict, no fault stands twice on it, the
    /// numbers add up.
    #[test]
    fn any_reading_gives_one_sound_account(
        rounds in prop::collection::vec((any::<u32>(), any_answer(), any::<bool>()), 1..20),
    ) {
        let mut machine = Machine::new();
        for (secs, answer, restarts) in rounds {
            if restarts {
                machine.restart();
            }
            machine.secs = u64::from(secs);
            let (now, listed) = (machine.now(), Ok(vec![LINKS.to_owned()]));
            let findings = machine.judge.judge(Round { now, listed, answers: vec![(LINKS.to_owned(), answer.map(RawReading::from))] });
            for verdict in &findings.verdicts {
                let mut reasons: Vec<_> = match state(&findings, &verdict.subject).unwrap() {
                    State::Faulty(faults) => faults.iter().map(|fault| fault.reason.clone()).collect(),
                    _ => continue,
                };
                let all = reasons.len();
                prop_assert!(all > 0);
                reasons.sort();
                reasons.dedup();
                prop_assert_eq!(reasons.len(), all);
            }
            for hardware in &findings.hardware {
                prop_assert!(hardware.states.values().sum::<u32>() <= hardware.total);
            }
        }
    }
}
