//! The text format of Prometheus, version 0.0.4.

use std::{collections::HashSet, fmt::Write as _};

use nodewell_reconcile::cache::Histogram;

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    name: String,
    series: HashSet<String>,
    /// Labels of every sample, as they are written.
    common: String,
}

/// What a metric is, in Prometheus' terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Page {
    /// Every sample has the cluster's name, if it has one.
    pub(super) fn of(cluster: Option<&str>) -> Self {
        let common = cluster.map_or_else(String::new, |name| format!("cluster=\"{}\"", escaped(name)));
        Self { common, ..Self::default() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Begins a metric; its samples follow.
    pub(super) fn metric(&mut self, name: &str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.series.clear();
        self.name = name.to_owned();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        self
    }

    /// All series of one histogram of the current metric.
    pub(super) fn histogram(&mut self, labels: &[(&str, &str)], values: &Histogram) -> &mut Self {
        for (bound, count) in values.buckets() {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let labels = written(&self.common, &[labels, &[("le", &bound)]].concat());
            let _ = writeln!(self.text, "{}_bucket{labels} {count}", self.name);
        }
        let (name, labels) = (&self.name, written(&self.common, labels));
        let _ = write!(self.text, "{name}_sum{labels} {}\n{name}_count{labels} {}\n", values.sum(), values.count());
        self
    }

    /// One sample of the current metric. A second one with the same labels is left out: Prometheus would refuse the
    /// page.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: u64) -> &mut Self {
        let labels = written(&self.common, labels);
        if self.series.insert(labels.clone()) {
            let _ = writeln!(self.text, "{}{labels} {value}", self.name);
        }
        self
    }
}

fn written(common: &str, labels: &[(&str, &str)]) -> String {
    let common = (!common.is_empty()).then(|| common.to_owned());
    let labels = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
    let pairs: Vec<String> = common.into_iter().chain(labels).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_all_its_series() {
        let mut values = Histogram::new(&[0.5, 2.0]);
        values.observe(std::time::Duration::from_secs(1));
        let mut page = Page::default();
        page.metric("a_seconds", Kind::Histogram, "A.").histogram(&[("x", "y")], &values);
        let expected = "# HELP a_seconds A.\n# TYPE a_seconds histogram\na_seconds_bucket{x=\"y\",le=\"0.5\"} 0\n\
                        a_seconds_bucket{x=\"y\",le=\"2\"} 1\na_seconds_bucket{x=\"y\",le=\"+Inf\"} 1\n\
                        a_seconds_sum{x=\"y\"} 1\na_seconds_count{x=\"y\"} 1\n";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn the_clusters_name_is_a_label_of_every_sample() {
        let mut page = Page::of(Some("east-1"));
        page.metric("a", Kind::Gauge, "A.").sample(&[], 1).sample(&[("x", "y")], 2);
        page.metric("b_seconds", Kind::Histogram, "B.").histogram(&[], &Histogram::new(&[2.0]));
        let text = page.into_text();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(samples[..2], ["a{cluster=\"east-1\"} 1", "a{cluster=\"east-1\",x=\"y\"} 2"]);
        assert!(samples[2..].iter().all(|line| line.contains("{cluster=\"east-1\"")), "{samples:?}");
        assert!(text.contains("b_seconds_bucket{cluster=\"east-1\",le=\"2\"} 0\n"), "{text}");
    }

    #[test]
    fn a_series_is_there_once_and_its_labels_are_escaped() {
        let mut page = Page::default();
        page.metric("a", Kind::Gauge, "A.").sample(&[("x", "q\"b\\\n")], 1).sample(&[("x", "q\"b\\\n")], 2);
        page.metric("b", Kind::Counter, "B.").sample(&[], 3);
        let expected = "# HELP a A.\n# TYPE a gauge\na{x=\"q\\\"b\\\\\\n\"} 1\n# HELP b B.\n# TYPE b counter\nb 3\n";
        assert_eq!(page.into_text(), expected);
    }
}
