//! Sensors that come and go for hours: one problem, and few Events.

use super::*;

/// Looks at sensors that change before each of them; how often one began to be faulty, and all Events.
fn look_at(machine: &mut Machine, rounds: usize, before: impl Fn(&mut FakeBmc, usize)) -> (usize, Vec<String>) {
    let (mut begun, mut found) = (0, Vec::new());
    let mut was_faulty = false;
    for n in 0..rounds {
        before(&mut machine.bmc, n);
        let findings = machine.look();
        let is_faulty = reason(&findings, SUPPLY) == "PowerSupplyFailed";
        begun += usize::from(is_faulty && !was_faulty);
        was_faulty = is_faulty;
        found.extend(events(&findings).into_iter().map(str::to_owned));
    }
    (begun, found)
}

fn message(findings: &Findings) -> &str {
    let verdict = findings.verdicts.iter().find(|verdict| verdict.subject == SUPPLY);
    match verdict.map(|verdict| &verdict.state) {
        Some(State::Faulty(faults)) => &faults[0].message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn five_hundred_alternating_looks_are_one_problem() {
    let mut machine = Machine::with(&[]);
    let alternate = |bmc: &mut FakeBmc, n: usize| bmc.add(if n.is_multiple_of(2) { FAILS } else { MENDED });
    assert_eq!(look_at(&mut machine, 250, alternate), (1, Vec::new()));
    machine.restart();
    let (begun, found) = look_at(&mut machine, 250, alternate);
    assert_eq!((begun, found), (1, Vec::new()), "it holds from the first look on");
    let findings = machine.look();
    assert!(message(&findings).contains("it has failed, again and again, by the BMC's log"), "{findings:?}");
    assert_eq!(reason(&machine.looks(40), SUPPLY), "PowerSupplyFailed");
    assert_eq!(reason(&machine.looks(40), SUPPLY), "healthy", "an hour and some minutes");
}

#[test]
fn what_begins_and_ends_in_each_of_five_hundred_looks_is_one_problem() {
    let mut machine = Machine::with(&[]);
    let (begun, found) =
        look_at(&mut machine, 500, |bmc, _| [FAILS, MENDED].into_iter().for_each(|event| bmc.add(event)));
    assert_eq!((begun, found), (1, vec!["BmcAlarmBrief".to_owned(); 4]));
    assert_eq!(reason(&machine.looks(80), SUPPLY), "healthy");
}

/// The agent was off for a day: that its log has a hundred of them does not make them come within an hour.
#[test]
fn one_look_at_many_is_a_few_events() {
    let mut machine = Machine::with(&[]);
    let (begun, found) = look_at(&mut machine, 20, |bmc, n| {
        let times = if n == 0 { 100 } else { 0 };
        (0..times).flat_map(|_| [FAILS, MENDED]).for_each(|event| bmc.add(event));
    });
    assert_eq!((begun, found), (0, vec!["BmcAlarmBrief".to_owned(); 5]));
}

#[test]
fn what_flaps_ends_with_the_part_and_with_the_log() {
    const OUT: Event = (0x08, 0x61, DEASSERTED, 0x00);
    for is_cleared in [false, true] {
        let mut machine = Machine::with(&[]);
        for _ in 0..8 {
            [FAILS, MENDED].into_iter().for_each(|event| machine.bmc.add(event));
            machine.look();
        }
        assert_eq!(reason(&machine.look(), SUPPLY), "PowerSupplyFailed");
        if is_cleared {
            machine.bmc.clear();
        } else {
            machine.bmc.add(OUT);
        }
        assert_eq!(reason(&machine.looks(7), SUPPLY), "healthy", "{is_cleared}");
    }
}
