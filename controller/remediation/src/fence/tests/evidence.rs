//! Which evidence is needed before power is cut.

use std::time::Duration;

use super::{
    fixture::Fixture,
    parts::{reading, steps},
};
use crate::{
    api::fence::DrainReport,
    facts::{ConditionStatus, Effect, Taint},
    fence::evidence::{Witness, is_off, may_power_off, sentence},
    snapshot::{Level, PowerReading, PowerState},
    time::Moment,
};

/// Its Lease was renewed last at 1000 s; it is so much later.
fn silent(secs: u64) -> Fixture {
    let mut fixture = Fixture::new(steps(&["power"]));
    fixture.now.moment = Moment(Duration::from_secs(1000 + secs));
    fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
    fixture
}

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(1000 + secs))
}

fn set_power(fixture: &mut Fixture, readings: &[(u64, PowerState)]) {
    fixture.gathered.power = readings.iter().map(|(secs, state)| reading(at(*secs), *state)).collect();
}

#[test]
fn silence_alone_is_enough_after_fifty_seconds_of_a_node_that_is_not_ready() {
    for (secs, ready, enough) in [
        (49, ConditionStatus::Unknown, false),
        (50, ConditionStatus::Unknown, true),
        (50, ConditionStatus::False, true),
        (50, ConditionStatus::True, false),
    ] {
        let mut fixture = silent(secs);
        fixture.node.as_mut().unwrap().conditions[0].status = ready;
        assert_eq!(may_power_off(&fixture.input()).is_ok(), enough, "{secs} s, Ready {ready}");
    }
}

#[test]
fn a_node_without_the_condition_ready_was_not_given_up() {
    let mut fixture = silent(50);
    fixture.node.as_mut().unwrap().conditions.clear();
    let blocker = may_power_off(&fixture.input()).unwrap_err();
    assert_eq!(blocker.reason, "WithinGracePeriod");
    assert!(blocker.message.contains("it has no condition Ready"), "{}", blocker.message);
}

#[test]
fn hosts_count_when_they_failed_for_five_seconds_and_none_reaches_it() {
    let tables: [(&[Option<u64>], bool); 6] = [
        (&[Some(11), Some(11)], true),
        (&[Some(11), Some(12)], false),
        (&[Some(11)], false),
        (&[Some(11), Some(11), None], false),
        (&[Some(1), Some(2), Some(15)], true),
        (&[], false),
    ];
    for (hosts, enough) in tables {
        let mut fixture = silent(16);
        let hosts = hosts.iter().enumerate();
        fixture.gathered.reach = hosts.map(|(index, since)| (format!("cp-{index}"), since.map(at))).collect();
        assert_eq!(may_power_off(&fixture.input()).is_ok(), enough, "{:?}", fixture.gathered.reach);
    }
}

#[test]
fn an_agent_that_lives_speaks_for_the_path() {
    let mut fixture = silent(20);
    fixture.gathered.reach = [("cp-1".into(), Some(at(1))), ("cp-2".into(), Some(at(1)))].into();
    assert!(may_power_off(&fixture.input()).is_ok());
    let mut agent = fixture.kubelet.clone().unwrap();
    agent.change_seen_at = at(18);
    let input = crate::fence::FenceInput { agent_lease: Some(&agent), ..fixture.input() };
    assert_eq!(may_power_off(&input).unwrap_err().reason, "WithinGracePeriod");
}

#[test]
fn a_bmc_is_believed_when_it_says_off_twice_a_second_apart_and_lately() {
    use PowerState::{Off, On, Unknown};
    let tables: [(&[(u64, PowerState)], bool); 7] = [
        (&[(18, Off), (19, Off)], true),
        (&[(19, Off)], false),
        (&[(19, Off), (19, Off)], false),
        (&[(18, Off), (19, On)], false),
        (&[(17, Off), (18, Unknown), (19, Off)], false),
        (&[(5, Off), (9, Off)], false),
        (&[(17, On), (18, Off), (19, Off)], true),
    ];
    for (readings, enough) in tables {
        let mut fixture = silent(20);
        set_power(&mut fixture, readings);
        assert_eq!(is_off(&fixture.input()).is_some(), enough, "{readings:?}");
    }
}

#[test]
fn a_bmc_that_says_off_is_not_believed_of_a_node_that_spoke_since() {
    let mut fixture = silent(20);
    set_power(&mut fixture, &[(18, PowerState::Off), (19, PowerState::Off)]);
    fixture.kubelet.as_mut().unwrap().change_seen_at = at(18);
    assert!(is_off(&fixture.input()).is_none());
    // It has been silent for long enough since then: of two readings one was before.
    set_power(&mut fixture, &[(2, PowerState::Off), (19, PowerState::Off)]);
    fixture.kubelet.as_mut().unwrap().change_seen_at = at(4);
    assert!(is_off(&fixture.input()).is_none());
    set_power(&mut fixture, &[(5, PowerState::Off), (19, PowerState::Off)]);
    assert!(is_off(&fixture.input()).is_some());
}

#[test]
fn an_outlets_on_says_nothing_of_a_machine_whose_bmc_says_off() {
    use PowerState::{Off, On};
    for (asks_machine, is_believed) in [(false, true), (true, false)] {
        let mut fixture = silent(20);
        set_power(&mut fixture, &[(18, Off), (19, Off)]);
        fixture.gathered.power.push(PowerReading { level: Level(2), asks_machine, ..reading(at(19), On) });
        assert_eq!(is_off(&fixture.input()).is_some(), is_believed, "{asks_machine}");
    }
}

#[test]
fn without_fast_evidence_in_the_policy_everything_waits_for_fifty_seconds() {
    let mut fixture = silent(20);
    fixture.policy.as_mut().unwrap().fast = None;
    fixture.gathered.reach = [("cp-1".into(), Some(at(1))), ("cp-2".into(), Some(at(1)))].into();
    set_power(&mut fixture, &[(18, PowerState::Off), (19, PowerState::Off)]);
    assert!(may_power_off(&fixture.input()).is_err() && is_off(&fixture.input()).is_none());
}

#[test]
fn every_witness_is_named_with_its_age() {
    let mut fixture = silent(60);
    fixture.gathered.reach = [("cp-1".into(), Some(at(1))), ("cp-2".into(), Some(at(2)))].into();
    set_power(&mut fixture, &[(55, PowerState::Off), (58, PowerState::Off)]);
    let seconds = Duration::from_secs;
    let expected = [
        Witness::Silence(seconds(60)),
        Witness::BmcOff(seconds(5)),
        Witness::Unreachable { hosts: 2, for_at_least: seconds(58) },
    ];
    assert_eq!(may_power_off(&fixture.input()).unwrap(), expected);
}

#[test]
fn a_drain_counts_while_the_node_takes_no_new_pods() {
    let taint = |effect| Taint { key: "nodewell.dev/remediation".into(), value: String::new(), effect };
    let tables = [
        // The node's taint, whether it is ours, and whether the Node is cordoned.
        (None, false, true, true),
        (None, false, false, false),
        (Some(Effect::NoSchedule), true, false, true),
        (Some(Effect::NoExecute), true, false, true),
        (Some(Effect::PreferNoSchedule), true, false, false),
        (Some(Effect::NoSchedule), false, false, false),
    ];
    for (effect, is_ours, cordoned, enough) in tables {
        let mut fixture = silent(0);
        fixture.fence.status.drain = Some(DrainReport { done: true, ..DrainReport::default() });
        let node = fixture.node.as_mut().unwrap();
        node.unschedulable = cordoned;
        node.taints = effect.map(taint).into_iter().collect();
        if is_ours {
            fixture.fence.status.own_changes.taints = node.taints.clone();
        }
        let found = may_power_off(&fixture.input());
        assert_eq!(found.is_ok(), enough, "{effect:?} {is_ours} {cordoned}: {found:?}");
        fixture.fence.status.drain = Some(DrainReport { done: true, left: 1, ..DrainReport::default() });
        assert!(may_power_off(&fixture.input()).is_err(), "a pod was left on it");
    }
}

#[test]
fn a_record_says_by_which_evidence() {
    let seconds = Duration::from_secs;
    let all = [
        Witness::Silence(seconds(60)),
        Witness::BmcOff(seconds(5)),
        Witness::Unreachable { hosts: 2, for_at_least: seconds(58) },
        Witness::LeaseReleased,
        Witness::Drained,
    ];
    let text = "Leases silent for 60 s, BMC reports Off since 5 s, unreachable from 2 hosts for 58 s, agent released its Lease, \
                drained";
    assert_eq!(sentence(&all), text);
}

#[test]
fn what_is_missing_is_named_by_how_long_it_was_silent() {
    let reason = |fixture: &Fixture| may_power_off(&fixture.input()).unwrap_err().reason;
    for (secs, ready, drained, expected) in [
        (49, true, false, "NodeReady"),
        (50, true, false, "WithinGracePeriod"),
        (49, false, false, "WithinGracePeriod"),
        (49, true, true, "NotCordoned"),
        (50, true, true, "WithinGracePeriod"),
    ] {
        let mut fixture = silent(secs);
        let status = if ready { ConditionStatus::True } else { ConditionStatus::Unknown };
        fixture.node.as_mut().unwrap().conditions[0].status = status;
        fixture.fence.status.drain = drained.then(|| DrainReport { done: true, ..DrainReport::default() });
        assert_eq!(reason(&fixture), expected, "{secs} s, Ready {ready}, drained {drained}");
    }
}
