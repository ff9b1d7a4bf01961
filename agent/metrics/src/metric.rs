//! What an exporter declares of its metrics: it writes by this alone, and docs/reference/metrics.md is made of it.

/// What a metric is, in Prometheus' terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    Counter,
    Gauge,
    Histogram,
}

/// One metric, as it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricType,
    /// The labels of each sample; one that only some samples have ends with `?`.
    pub labels: &'static [&'static str],
    /// One line of prose, in which values of labels stand between backquotes.
    pub help: &'static str,
}

impl MetricType {
    /// As a line `# TYPE` has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Metric {
    /// Whether `labels` are those that it declares: all of them, and no other.
    pub(crate) fn declares(&self, labels: &[(&str, &str)]) -> bool {
        let is_there = |name: &str| labels.iter().any(|(label, _)| *label == name);
        let is_known = |name: &str| self.labels.iter().any(|label| label.trim_end_matches('?') == name);
        let is_whole = self.labels.iter().all(|label| label.ends_with('?') || is_there(label));
        is_whole && labels.iter().all(|(label, _)| is_known(label))
    }
}

/// Declares metrics: a constant for each, and one for all of them in the order of the reference.
///
/// The first line names the latter, `pub const ALL;`. Each other one is a metric:
/// `CONSTANT: Counter "its_name_total" ["label", "another?"] "What it counts.";`.
#[macro_export]
macro_rules! metrics {
    ($vis:vis const $all:ident; $($constant:ident: $kind:ident $name:tt [$($label:literal),*] $help:literal;)*) => {
        $(
            $vis const $constant: $crate::Metric = $crate::Metric {
                name: $name,
                kind: $crate::MetricType::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        /// All of them, in the order of the reference.
        $vis const $all: &[$crate::Metric] = &[$($constant),*];
    };
}

#[cfg(test)]
mod tests {
    metrics! {
        const ALL;
        PLAIN: Gauge "plain" [] "Nothing to tell apart.";
        PORTS: Counter "ports_total" ["device", "port?"] "By device, and by port where there is one.";
    }

    #[test]
    fn all_that_is_declared_is_listed() {
        assert_eq!(ALL, [PLAIN, PORTS]);
        assert_eq!((PORTS.kind.as_str(), PORTS.help), ("counter", "By device, and by port where there is one."));
    }

    #[test]
    fn labels_are_those_that_are_declared() {
        assert!(PLAIN.declares(&[]) && !PLAIN.declares(&[("device", "a")]));
        assert!(PORTS.declares(&[("port", "1"), ("device", "a")]) && PORTS.declares(&[("device", "a")]));
        assert!(!PORTS.declares(&[("port", "1")]) && !PORTS.declares(&[("device", "a"), ("gate", "1")]));
    }
}
