//! Conditions, problems and devices: `problem_counter` and `problem_gauge` as Node Problem Detector names them.

use std::{collections::BTreeMap, sync::Arc};

use nodewell_ledger::Counters;
use nodewell_metrics::Exposition;
use nodewell_model::{
    Name,
    view::{ConditionView, HardwareView, ProblemView},
};

use super::{MetricSources, table::problems};

pub(super) fn write(exposition: &mut Exposition, sources: &MetricSources) {
    write_problems(exposition, sources);
    let view = sources.shared_state.view();
    exposition.metric(&problems::CONDITION);
    for condition in &view.conditions {
        let labels = [("type", condition.condition.as_str()), ("status", condition.status.as_str())];
        exposition.sample(&labels, 1);
    }
    exposition.metric(&problems::ACTIVE_PROBLEMS);
    for ConditionView { condition, problems, .. } in view.conditions.iter().map(AsRef::as_ref) {
        exposition.sample(&[("type", condition.as_str())], problems.len());
    }
    exposition.metric(&problems::MUTED_PROBLEMS);
    for ConditionView { condition, problems, .. } in view.conditions.iter().map(AsRef::as_ref) {
        let muted = problems.iter().filter(|problem| problem.muted_until.is_some()).count();
        exposition.sample(&[("type", condition.as_str())], muted);
    }
    exposition.metric(&problems::ACKNOWLEDGED_PROBLEMS);
    for ConditionView { condition, problems, .. } in view.conditions.iter().map(AsRef::as_ref) {
        let is_acked = |problem: &&ProblemView| problem.muted_until.is_none() && problem.false_positive.is_some();
        let acked = problems.iter().filter(is_acked).count();
        exposition.sample(&[("type", condition.as_str())], acked);
    }
    write_false_positives(exposition, &view.conditions, sources.shared_state.tallies());
    write_devices(exposition, &view.hardware);
}

/// What can be called a false positive is there before it is, with 0: a counter that begins with 1 has not increased to
/// Prometheus.
fn write_false_positives(exposition: &mut Exposition, conditions: &[Arc<ConditionView>], tallies: Counters) {
    let Counters { gauges, mut false_positives, mut false_conditions, .. } = tallies;
    for gauge in gauges {
        false_positives.entry((gauge.condition, gauge.reason)).or_default();
    }
    for view in conditions {
        false_conditions.entry(view.condition.clone()).or_default();
    }
    exposition.metric(&problems::FALSE_POSITIVES);
    for ((condition, reason), total) in &false_positives {
        let labels = [("type", condition.as_str()), ("reason", reason.as_str())];
        exposition.sample(&labels, *total);
    }
    exposition.metric(&problems::FALSE_CONDITIONS);
    for (condition, total) in &false_conditions {
        exposition.sample(&[("type", condition.as_str())], *total);
    }
}

/// A state that no device of a class is in any more is not there: `ok` always is. Facts about the host are no devices.
fn write_devices(exposition: &mut Exposition, hardware: &[HardwareView]) {
    exposition.metric(&problems::DEVICES);
    for HardwareView { class, healthy, states, .. } in hardware.iter().filter(|class| !class.informational) {
        let states = states.iter().map(|(state, count)| (state.as_str(), *count));
        for (state, count) in [("ok", *healthy)].into_iter().chain(states) {
            exposition.sample(&[("class", class), ("state", state)], count);
        }
    }
}

/// Like Node Problem Detector, every reason that a rule names is there from the start, with 0. Rules with a `decoder`
/// find their reasons in a table of codes (Xids, SXids): these are hundreds, and are there once seen. So are gauges of
/// rules with `shows-healthy-condition = false`, whose condition a node without such hardware does not show.
fn write_problems(exposition: &mut Exposition, sources: &MetricSources) {
    let mut tallies = sources.shared_state.tallies();
    let rules = sources.rules.borrow();
    let plain = || rules.rules.iter().filter(|rule| rule.decoder.is_none());
    for rule in plain() {
        tallies.raised.entry(rule.reason.clone()).or_default();
    }
    let mut gauges: BTreeMap<(Name, Name), bool> = BTreeMap::new();
    for rule in plain().filter(|rule| rule.shows_healthy_condition) {
        gauges.extend(rule.condition.clone().map(|condition| ((condition, rule.reason.clone()), false)));
    }
    gauges.extend(tallies.gauges.into_iter().map(|gauge| ((gauge.condition, gauge.reason), gauge.active)));
    exposition.metric(&problems::PROBLEM_COUNTER);
    for (reason, total) in &tallies.raised {
        exposition.sample(&[("reason", reason.as_str())], *total);
    }
    exposition.metric(&problems::PROBLEM_GAUGE);
    for ((condition, reason), active) in &gauges {
        let labels = [("reason", reason.as_str()), ("type", condition.as_str())];
        exposition.sample(&labels, u8::from(*active));
    }
}

#[cfg(test)]
mod tests {
    use nodewell_ledger::Gauge;
    use nodewell_model::ConditionStatus;

    use super::*;

    #[test]
    fn false_positives_are_there_before_the_first_and_stay_when_their_condition_is_gone() {
        let name = Name::fixed;
        let view = ConditionView {
            condition: name("DiskUnhealthy"),
            status: ConditionStatus::True,
            reason: name("IOError"),
            message: String::new(),
            transition: jiff::Timestamp::UNIX_EPOCH,
            problems: Vec::new(),
        };
        let gauge = |reason| Gauge { condition: name("DiskUnhealthy"), reason: name(reason), active: true };
        let tallies = Counters {
            gauges: vec![gauge("IOError"), gauge("XfsError")],
            false_positives: BTreeMap::from([((name("DiskUnhealthy"), name("IOError")), 3)]),
            false_conditions: BTreeMap::from([(name("GpuUnhealthy"), 2)]),
            ..Counters::default()
        };
        let mut exposition = Exposition::default();
        write_false_positives(&mut exposition, &[view.into()], tallies);
        let text = exposition.into_text();
        for line in [
            "nodewell_false_positives_total{type=\"DiskUnhealthy\",reason=\"IOError\"} 3\n",
            "nodewell_false_positives_total{type=\"DiskUnhealthy\",reason=\"XfsError\"} 0\n",
            "nodewell_false_conditions_total{type=\"DiskUnhealthy\"} 0\n",
            "nodewell_false_conditions_total{type=\"GpuUnhealthy\"} 2\n",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
    }

    #[test]
    fn facts_about_the_host_are_in_no_metric() {
        let class = |class: &str, informational| HardwareView {
            class: class.to_owned(),
            total: 1,
            healthy: 0,
            states: BTreeMap::from([("due".to_owned(), 1)]),
            unconfirmed_since: None,
            informational,
            devices: Vec::new(),
        };
        let mut exposition = Exposition::default();
        write_devices(&mut exposition, &[class("disks", false), class("reboots", true)]);
        let text = exposition.into_text();
        assert!(text.contains("class=\"disks\",state=\"due\"") && !text.contains("reboots"), "{text}");
    }
}
