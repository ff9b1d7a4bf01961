//! The cluster's own settings: defaults by version, and what kube-controller-manager's command line sets instead.

use std::time::Duration;

use serde::Serialize;

use super::{maybe_seconds, seconds};

/// What decides how long a failed node's pods wait.
///
/// Sources: `cmd/kube-controller-manager/app/options/nodelifecyclecontroller.go` and
/// `pkg/controller/nodelifecycle/config/v1alpha1/defaults.go` of kubernetes/kubernetes, and the reference page
/// "kube-controller-manager".
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastSettings {
    /// `nodeLeaseDurationSeconds` of the kubelet, 40 s; it renews after a quarter of that (KEP-589).
    #[serde(rename = "nodeLeaseDurationSeconds", serialize_with = "seconds")]
    pub lease_duration: Duration,
    /// `--node-monitor-grace-period`: 50 s since 1.32 (kubernetes#126287), 40 s before.
    #[serde(rename = "nodeMonitorGracePeriodSeconds", serialize_with = "seconds")]
    pub monitor_grace: Duration,
    /// `--node-monitor-period`: 5 s.
    #[serde(rename = "nodeMonitorPeriodSeconds", serialize_with = "seconds")]
    pub monitor_period: Duration,
    /// `--node-eviction-rate`: 0.1 nodes a second and zone.
    pub eviction_rate: f64,
    /// `--secondary-node-eviction-rate`: 0.01, in a zone that is partly down.
    pub secondary_eviction_rate: f64,
    /// `--unhealthy-zone-threshold`: 0.55 of the zone's nodes, and three at least.
    pub unhealthy_zone_threshold: f64,
    /// `--large-cluster-size-threshold`: up to 50 nodes a zone that is partly down is not tainted at all.
    pub large_cluster_threshold: usize,
    /// How long the attach-detach controller waits for an unmount before it detaches from a node that is not ready: six
    /// minutes (`DefaultTimerConfig`); nothing with `--disable-force-detach-on-timeout` (kubernetes#120344).
    #[serde(rename = "forceDetachAfterSeconds", serialize_with = "maybe_seconds")]
    pub force_detach_after: Option<Duration>,
    /// How often the garbage collector of pods looks: 20 s (`pkg/controller/podgc`).
    #[serde(rename = "podGCPeriodSeconds", serialize_with = "seconds")]
    pub pod_gc_period: Duration,
    /// How long it waits for a Node that is gone to come back: 40 s.
    #[serde(rename = "podGCQuarantineSeconds", serialize_with = "seconds")]
    pub pod_gc_quarantine: Duration,
    /// Where these come from, and what could not be read.
    pub notes: Vec<String>,
}

impl ForecastSettings {
    /// The defaults of Kubernetes 1.`minor`; of the newest, if that is not known.
    #[must_use]
    pub fn defaults(minor: Option<u32>) -> Self {
        let old = minor.is_some_and(|minor| minor < 32);
        Self {
            lease_duration: Duration::from_secs(40),
            monitor_grace: Duration::from_secs(if old { 40 } else { 50 }),
            monitor_period: Duration::from_secs(5),
            eviction_rate: 0.1,
            secondary_eviction_rate: 0.01,
            unhealthy_zone_threshold: 0.55,
            large_cluster_threshold: 50,
            force_detach_after: Some(Duration::from_mins(6)),
            pod_gc_period: Duration::from_secs(20),
            pod_gc_quarantine: Duration::from_secs(40),
            notes: vec![match minor {
                Some(minor) => {
                    format!("defaults of Kubernetes 1.{minor}: no flags of kube-controller-manager are visible")
                }
                None => "defaults of Kubernetes 1.32 and later: neither version nor flags are visible".to_owned(),
            }],
        }
    }

    /// As kube-controller-manager was started: `args` are its container's `command` and `args`. What is not given has its
    /// default; what cannot be read has too, with a note.
    #[must_use]
    pub fn from_args(args: &[String], minor: Option<u32>) -> Self {
        let mut settings = Self::defaults(minor);
        settings.notes = vec!["flags of kube-controller-manager as it was started; defaults for the rest".to_owned()];
        for (flag, value) in flags(args) {
            if settings.set(flag, value).is_none() {
                settings.notes.push(format!("--{flag}={value} cannot be read: the default is used"));
            }
        }
        settings
    }

    /// Nothing if the value cannot be read; flags of no interest are fine.
    fn set(&mut self, flag: &str, value: &str) -> Option<()> {
        match flag {
            "node-monitor-grace-period" => self.monitor_grace = duration(value)?,
            "node-monitor-period" => self.monitor_period = duration(value)?,
            "node-eviction-rate" => self.eviction_rate = rate(value)?,
            "secondary-node-eviction-rate" => self.secondary_eviction_rate = rate(value)?,
            "unhealthy-zone-threshold" => self.unhealthy_zone_threshold = rate(value)?,
            "large-cluster-size-threshold" => self.large_cluster_threshold = value.parse().ok()?,
            "disable-force-detach-on-timeout" if is_on(value)? => self.force_detach_after = None,
            _ => {}
        }
        Some(())
    }
}

/// `--flag=value`, `--flag value` and a bare `--flag`; with one dash too, as Go has it.
fn flags(args: &[String]) -> impl Iterator<Item = (&str, &str)> {
    let is_flag = |arg: &str| arg.starts_with('-');
    args.iter().enumerate().filter(move |(_, arg)| is_flag(arg)).map(move |(at, arg)| {
        let bare = arg.trim_start_matches('-');
        bare.split_once('=').unwrap_or_else(|| {
            let next = args.get(at + 1).map(String::as_str).filter(|next| !is_flag(next));
            (bare, next.unwrap_or_default())
        })
    })
}

fn rate(value: &str) -> Option<f64> {
    value.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= 0.0)
}

/// A flag without a value is on.
fn is_on(value: &str) -> Option<bool> {
    if value.is_empty() { Some(true) } else { value.parse().ok() }
}

/// As Go writes them: `1m30s`, `500ms`, `1.5h`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let tail = &rest[end..];
        let length = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let unit = unit_secs(&tail[..length])?;
        total = total.checked_add(Duration::try_from_secs_f64(number * unit).ok()?)?;
        rest = &tail[length..];
    }
    (!text.is_empty()).then_some(total)
}

fn unit_secs(unit: &str) -> Option<f64> {
    Some(match unit {
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn defaults_follow_the_version() {
        assert_eq!(ForecastSettings::defaults(Some(31)).monitor_grace, Duration::from_secs(40));
        assert_eq!(ForecastSettings::defaults(Some(32)).monitor_grace, Duration::from_secs(50));
        assert!(ForecastSettings::defaults(None).notes[0].contains("neither version nor flags"));
    }

    #[test]
    fn flags_are_read_in_every_form() {
        let line = "kube-controller-manager --node-monitor-grace-period=1m30s -node-monitor-period 2s \
                    --node-eviction-rate=0.5 --disable-force-detach-on-timeout --large-cluster-size-threshold=10 --v=2";
        let settings = ForecastSettings::from_args(&args(line), Some(33));
        assert_eq!(settings.monitor_grace, Duration::from_secs(90));
        assert_eq!(settings.monitor_period, Duration::from_secs(2));
        assert_eq!((settings.eviction_rate, settings.large_cluster_threshold), (0.5, 10));
        assert_eq!(settings.force_detach_after, None);
        assert_eq!(settings.notes.len(), 1);
        let kept = ForecastSettings::from_args(&args("x --disable-force-detach-on-timeout=false"), None);
        assert!(kept.force_detach_after.is_some());
    }

    #[test]
    fn what_cannot_be_read_is_named_and_has_its_default() {
        for odd in ["soon", "", "5", "5x", "-3s", "1e400s", "..s"] {
            let settings = ForecastSettings::from_args(&[format!("--node-monitor-grace-period={odd}")], None);
            assert_eq!(settings.monitor_grace, Duration::from_secs(50), "{odd}");
            assert_eq!(settings.notes.len(), 2, "{odd}");
        }
        assert_eq!(ForecastSettings::from_args(&args("--node-eviction-rate=NaN"), None).eviction_rate, 0.1);
    }
}
