//! The text format of Prometheus, version 0.0.4.

use std::{
    collections::HashSet,
    fmt::{Display, Write as _},
};

use crate::Metric;

/// The text exposition format in the making.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    /// Of the current metric.
    name: String,
    current: Option<Metric>,
    /// The labels that the current metric has already.
    series: HashSet<String>,
    /// Labels of every sample, as they are written.
    common: String,
}

/// What a sample may be. Each is written with all its digits; Prometheus has only doubles, so that past 2^53 it loses a
/// counter's last ones, which no rate notices.
pub trait Number: Display {}

impl Number for f64 {}
// A literal.
impl Number for i32 {}
impl Number for u8 {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for usize {}

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
    pub fn metric(&mut self, metric: &Metric) -> &mut Self {
        self.metric_named(metric.name, metric)
    }

    /// The same, under the name that an operator's file gives it.
    pub fn metric_named(&mut self, name: &str, metric: &Metric) -> &mut Self {
        let Metric { kind, help, .. } = metric;
        self.series.clear();
        self.name = name.to_owned();
        self.current = Some(*metric);
        // Writing to a String cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {}\n", kind.as_str());
        self
    }

    /// One sample of the current metric. A second one with the same labels is left out: Prometheus would refuse the whole
    /// exposition for it.
    ///
    /// # Panics
    /// In debug builds, if the labels are not those that the metric declares: a bug that tests find.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Number) -> &mut Self {
        self.check(labels);
        let labels = written(&self.common, labels);
        if !self.series.contains(&labels) {
            let _ = writeln!(self.text, "{}{labels} {value}", self.name);
            self.series.insert(labels);
        }
        self
    }

    /// All series of one histogram of the current metric: how many were at most each bound, the last one above all of
    /// them; the sum of all values, and how many there were.
    ///
    /// # Panics
    /// As [`Self::sample`].
    pub fn histogram(
        &mut self,
        labels: &[(&str, &str)],
        buckets: impl IntoIterator<Item = (Option<f64>, u64)>,
        sum: f64,
        count: u64,
    ) -> &mut Self {
        self.check(labels);
        for (bound, count) in buckets {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let labels = written(&self.common, &[labels, &[("le", &bound)]].concat());
            let _ = writeln!(self.text, "{}_bucket{labels} {count}", self.name);
        }
        let (name, labels) = (&self.name, written(&self.common, labels));
        let _ = write!(self.text, "{name}_sum{labels} {sum}\n{name}_count{labels} {count}\n");
        self
    }

    fn check(&self, labels: &[(&str, &str)]) {
        debug_assert!(
            self.current.is_some_and(|metric| metric.declares(labels)),
            "{} has {labels:?} and declares {:?}",
            self.name,
            self.current
        );
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

#[cfg(test)]
mod tests {
    use super::*;

    crate::metrics! {
        const ALL;
        A: Gauge "a" ["x?", "y?"] "A.";
        B: Counter "b" ["x?"] "B.";
        A_SECONDS: Histogram "a_seconds" ["x?"] "A.";
    }

    #[test]
    fn a_series_is_there_once_and_its_labels_are_escaped() {
        let mut exposition = Exposition::default();
        exposition.metric(&A);
        exposition.sample(&[("x", "q\"b\\\n"), ("y", "")], 1.5).sample(&[("x", "q\"b\\\n"), ("y", "")], 2.0);
        exposition.metric(&B).sample(&[], 3.0).sample(&[("x", "")], 3_u64);
        let expected = "# HELP a A.\n# TYPE a gauge\na{x=\"q\\\"b\\\\\\n\",y=\"\"} 1.5\n\
                        # HELP b B.\n# TYPE b counter\nb 3\nb{x=\"\"} 3\n";
        assert_eq!(exposition.into_text(), expected);
    }

    #[test]
    fn a_histogram_has_all_its_series() {
        let mut exposition = Exposition::default();
        let buckets = [(Some(0.5), 0), (Some(2.0), 1), (None, 1)];
        exposition.metric(&A_SECONDS).histogram(&[("x", "y")], buckets, 1.0, 1);
        let expected = "# HELP a_seconds A.\n# TYPE a_seconds histogram\na_seconds_bucket{x=\"y\",le=\"0.5\"} 0\n\
                        a_seconds_bucket{x=\"y\",le=\"2\"} 1\na_seconds_bucket{x=\"y\",le=\"+Inf\"} 1\n\
                        a_seconds_sum{x=\"y\"} 1\na_seconds_count{x=\"y\"} 1\n";
        assert_eq!(exposition.into_text(), expected);
    }

    #[test]
    fn the_clusters_name_is_a_label_of_every_sample() {
        let mut exposition = Exposition::of(Some("east\"1"));
        exposition.metric(&A).sample(&[], 1).sample(&[("x", "y")], 2);
        exposition.metric_named("b_seconds", &A_SECONDS).histogram(&[], [(Some(2.0), 0), (None, 0)], 0.0, 0);
        let text = exposition.into_text();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(samples[..2], ["a{cluster=\"east\\\"1\"} 1", "a{cluster=\"east\\\"1\",x=\"y\"} 2"]);
        assert!(samples.iter().all(|line| line.contains("{cluster=\"east\\\"1\"")), "{samples:?}");
        assert!(text.contains("b_seconds_bucket{cluster=\"east\\\"1\",le=\"2\"} 0\n"), "{text}");
    }

    #[test]
    #[should_panic(expected = "b has")]
    #[cfg(debug_assertions)]
    fn a_label_that_is_not_declared_is_found() {
        Exposition::default().metric(&ALL[1]).sample(&[("z", "y")], 1);
    }
}
