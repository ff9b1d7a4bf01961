//! The text format of Prometheus, version 0.0.4.

use std::{collections::HashSet, fmt::Write as _};

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    name: String,
    series: HashSet<String>,
}

/// What a metric is, in Prometheus' words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

impl Page {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Begins a metric; its samples follow.
    pub(super) fn metric(&mut self, name: &str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        self.series.clear();
        self.name = name.to_owned();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        self
    }

    /// One sample of the metric in hand. A second one with the same labels is left out: Prometheus would refuse the page.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: u64) -> &mut Self {
        let labels = written(labels);
        if self.series.insert(labels.clone()) {
            let _ = writeln!(self.text, "{}{labels} {value}", self.name);
        }
        self
    }
}

fn written(labels: &[(&str, &str)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_there_once_and_its_labels_are_escaped() {
        let mut page = Page::default();
        page.metric("a", Kind::Gauge, "A.").sample(&[("x", "q\"b\\\n")], 1).sample(&[("x", "q\"b\\\n")], 2);
        page.metric("b", Kind::Counter, "B.").sample(&[], 3);
        let expected = "# HELP a A.\n# TYPE a gauge\na{x=\"q\\\"b\\\\\\n\"} 1\n# HELP b B.\n# TYPE b counter\nb 3\n";
        assert_eq!(page.into_text(), expected);
    }
}
