//! The metrics of Node Problem Detector's system-stats-monitor, under the names that its configuration file gives. Where its
//! values are wrong these are right: docs/metrics.md lists each difference.

mod cpu;
mod disk;
mod memory;
mod network;
mod system;

use std::collections::BTreeMap;

use nodewell_checks::statistics::{host::Host, space::Space};
use nodewell_metrics::{Exposition, Metric, MetricType};
use nodewell_rules::npd::stats::SystemStats;

use super::ProcSample;

/// What one monitor's metrics are made from.
pub(super) struct MetricInputs<'a> {
    pub(super) monitor: &'a SystemStats,
    pub(super) sample: &'a ProcSample,
    pub(super) host: &'a Host,
    pub(super) spaces: &'a BTreeMap<String, Space>,
    /// The average queue of each disk.
    pub(super) queues: Vec<(String, f64)>,
    pub(super) ticks_per_second: u64,
}

/// One metric: what it is and how its samples come about.
struct MetricDefinition {
    id: &'static str,
    kind: MetricType,
    labels: &'static [&'static str],
    help: &'static str,
    write: fn(&mut Samples<'_>, &MetricInputs<'_>),
}

impl MetricDefinition {
    /// Without the name that a file gives it.
    fn metric(&self) -> Metric {
        Metric { name: self.id, kind: self.kind, labels: self.labels, help: self.help }
    }
}

/// Where a metric's samples go.
struct Samples<'a>(&'a mut Exposition);

impl Samples<'_> {
    fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        self.0.sample(labels, value);
    }

    /// The only one, if it is known.
    fn only(&mut self, value: Option<f64>) {
        value.into_iter().for_each(|value| self.add(&[], value));
    }
}

const DEFINITIONS: [&[MetricDefinition]; 5] =
    [cpu::DEFINITIONS, disk::DEFINITIONS, memory::DEFINITIONS, network::DEFINITIONS, system::DEFINITIONS];

/// What a file may name: each by its id, as the reference shows it.
pub(super) fn figures() -> impl Iterator<Item = Metric> {
    DEFINITIONS.into_iter().flatten().map(MetricDefinition::metric)
}

fn definition(id: &str) -> Option<&'static MetricDefinition> {
    DEFINITIONS.into_iter().flatten().find(|definition| definition.id == id)
}

pub(super) fn write(exposition: &mut Exposition, inputs: &MetricInputs<'_>) {
    for metric in &inputs.monitor.metrics {
        let Some(definition) = definition(metric.id) else { continue };
        let exposition = exposition.metric_named(&metric.name, &definition.metric());
        (definition.write)(&mut Samples(exposition), inputs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_that_a_file_may_name_is_a_figure() {
        let ids: Vec<&str> =
            nodewell_rules::npd::stats::METRICS.iter().flat_map(|(_, ids)| ids.iter().copied()).collect();
        assert_eq!(ids.len(), DEFINITIONS.iter().map(|figures| figures.len()).sum::<usize>());
        ids.iter().for_each(|id| assert!(definition(id).is_some(), "{id}"));
    }
}
