//! The path the cluster itself would take for a failed node, with times from its own settings, beside ours.
//!
//! All times count from the failure: the moment at which the node's power or network is gone. What the cluster does is
//! written down from the sources of Kubernetes; each number names its own. Nothing here decides: people read it in
//! `plan --node`.
//!
//! Facts of a node and its pods, and [`ForecastSettings`] → [`forecast`] → [`NodeForecast`] → [`render()`], or JSON.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cluster;
mod fencing;
mod pods;
mod remediation;
mod render;
mod settings;

use std::time::Duration;

use nodewell_remediation::facts::Pod;
use serde::{Serialize, Serializer};

pub use self::{
    cluster::{ClusterTimeline, ZoneCounts, ZoneState},
    fencing::FencingLevel,
    pods::{ClusterOutcome, PodForecast, RemediationOutcome},
    remediation::{Remediation, RemediationTimeline},
    render::render,
    settings::ForecastSettings,
};

/// Something happens between `earliest` and `latest` after the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Window {
    #[serde(rename = "earliestSeconds", serialize_with = "seconds")]
    pub earliest: Duration,
    #[serde(rename = "latestSeconds", serialize_with = "seconds")]
    pub latest: Duration,
}

impl Window {
    #[must_use]
    pub fn new(earliest: Duration, latest: Duration) -> Self {
        Self { earliest, latest: latest.max(earliest) }
    }

    /// As much later as `span`.
    #[must_use]
    pub fn plus(self, span: Self) -> Self {
        Self { earliest: self.earliest.saturating_add(span.earliest), latest: self.latest.saturating_add(span.latest) }
    }

    /// Later by exactly this much.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        self.plus(Self::new(by, by))
    }
}

fn seconds<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_secs_f64())
}

fn maybe_seconds<S: Serializer>(span: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => seconds(span, serializer),
        None => serializer.serialize_none(),
    }
}

/// What would become of a node and its pods if it failed now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeForecast {
    pub node: String,
    /// For how long the node has been dead; nothing of one that lives. Times count from its failure.
    #[serde(rename = "failedSecondsAgo", serialize_with = "maybe_seconds", skip_serializing_if = "Option::is_none")]
    pub failed_for: Option<Duration>,
    /// What the times are made of.
    pub settings: ForecastSettings,
    pub cluster: ClusterTimeline,
    /// Nothing if no policy would act on a failed node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remediation: Option<RemediationTimeline>,
    /// The ways to its power; none if they cannot be read, which the blockers state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fencing: Vec<FencingLevel>,
    /// What never comes back by itself first.
    pub pods: Vec<PodForecast>,
}

/// Forecasts it. `pods` are those on the node; `remediation` is what a policy of ours would do, if any would.
#[must_use]
pub fn forecast(
    node: &str,
    pods: &[Pod],
    settings: ForecastSettings,
    zone_counts: &ZoneCounts,
    remediation: Option<&Remediation>,
) -> NodeForecast {
    let cluster = ClusterTimeline::of(&settings, zone_counts);
    let timeline = remediation.map(|remediation| RemediationTimeline::of(remediation, &settings));
    let mut pods: Vec<PodForecast> =
        pods.iter().map(|pod| PodForecast::of(pod, &settings, &cluster, remediation.zip(timeline.as_ref()))).collect();
    pods.sort_by(|left, right| (left.rank(), &left.pod).cmp(&(right.rank(), &right.pod)));
    NodeForecast {
        node: node.to_owned(),
        failed_for: None,
        settings,
        cluster,
        remediation: timeline,
        fencing: Vec::new(),
        pods,
    }
}

#[cfg(test)]
mod tests;
