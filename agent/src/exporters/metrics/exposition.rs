//! The text format of Prometheus, version 0.0.4.

use std::{collections::HashSet, fmt::Write as _};

/// The text exposition format in the making.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    /// The labels that the current metric has already.
    series: HashSet<String>,
    /// Labels of every sample, as they are written.
    common: String,
}

/// What a metric is, in Prometheus' terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    Counter,
    Gauge,
}

impl Exposition {
    /// Every sample has the cluster's name, if it has one.
    #[must_use]
    pub fn of(cluster: Option<&str>) -> Self {
        let common = cluster.map_or_else(String::new, |name| format!("cluster=\"{}\"", escaped(name)));
        Self { common, ..Self::default() }
    }

    /// The text so far.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// What another exposition has, as it is.
    pub fn append(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Begins a metric; its samples follow.
    pub fn metric(&mut self, name: &str, kind: MetricType, help: &str) {
        let kind = match kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
        };
        self.series.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// One sample. A second one with the same labels is left out: Prometheus would refuse the whole exposition for it.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels = written(&self.common, labels);
        if !self.series.contains(&labels) {
            let _ = writeln!(self.text, "{name}{labels} {value}");
            self.series.insert(labels);
        }
    }
}

fn written(common: &str, labels: &[(&str, &str)]) -> String {
    if common.is_empty() && labels.is_empty() {
        return String::new();
    }
    let mut text = format!("{{{common}");
    for (label, value) in labels {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}{label}=\"{}\"", escaped(value));
    }
    text + "}"
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A number of things.
pub(super) fn count(value: usize) -> f64 {
    to_double(value as u64)
}

/// `value` as a sample, inexactly: Prometheus has only doubles; past 2^53 a counter's last digits are gone, which no
/// rate notices.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(super) fn to_double(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_there_once_and_its_labels_are_escaped() {
        let mut exposition = Exposition::default();
        exposition.metric("a", MetricType::Gauge, "A.");
        exposition.sample("a", &[("x", "q\"b\\\n"), ("y", "")], 1.5);
        exposition.sample("a", &[("x", "q\"b\\\n"), ("y", "")], 2.0);
        exposition.metric("b", MetricType::Counter, "B.");
        exposition.sample("b", &[], 3.0);
        let expected =
            "# HELP a A.\n# TYPE a gauge\na{x=\"q\\\"b\\\\\\n\",y=\"\"} 1.5\n# HELP b B.\n# TYPE b counter\nb 3\n";
        assert_eq!(exposition.into_text(), expected);
    }

    #[test]
    fn the_clusters_name_is_a_label_of_every_sample() {
        let mut exposition = Exposition::of(Some("east\"1"));
        exposition.metric("a", MetricType::Gauge, "A.");
        exposition.sample("a", &[], 1.0);
        exposition.sample("a", &[("x", "y")], 2.0);
        let expected = "# HELP a A.\n# TYPE a gauge\na{cluster=\"east\\\"1\"} 1\na{cluster=\"east\\\"1\",x=\"y\"} 2\n";
        assert_eq!(exposition.into_text(), expected);
    }
}
