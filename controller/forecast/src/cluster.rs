//! What the node lifecycle controller does with a node that has gone silent
//! (`pkg/controller/nodelifecycle/node_lifecycle_controller.go`).

use std::time::Duration;

use nodewell_remediation::{facts::Node, snapshot::Snapshot};
use serde::Serialize;

use super::{ForecastSettings, Window};

/// The node's zone, and the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ZoneCounts {
    /// Nodes in its zone (the whole cluster, if it has no zones), this one among them.
    pub zone_nodes: usize,
    /// Of these, without this one, how many are not ready.
    pub zone_not_ready: usize,
    /// Some node of another zone is ready.
    pub others_ready: bool,
}

impl ZoneCounts {
    /// As the node lifecycle controller would count them. Nodes labelled `node.kubernetes.io/exclude-disruption` are not.
    #[must_use]
    pub fn of(node: &str, snapshot: &Snapshot) -> Self {
        let zone = snapshot.nodes.get(node).and_then(|node| node.zone());
        let counts = |one: &&Node| !one.labels.contains_key("node.kubernetes.io/exclude-disruption");
        let mut zone_counts = Self { zone_nodes: 1, ..Self::default() };
        for one in snapshot.nodes.values().filter(|one| one.name != node).filter(counts) {
            if one.zone() == zone {
                zone_counts.zone_nodes += 1;
                zone_counts.zone_not_ready += usize::from(!one.is_ready());
            } else {
                zone_counts.others_ready |= one.is_ready();
            }
        }
        zone_counts
    }
}

/// What the zone would be with this node down (`ComputeZoneState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ZoneState {
    Normal,
    /// More than two nodes, and the threshold's share of them, are not ready.
    PartialDisruption,
    /// No node of the zone is ready, but some of another zone.
    FullDisruption,
    /// No node at all is ready: the controller stops, and takes its taints back.
    AllDown,
}

impl ZoneState {
    fn of(settings: &ForecastSettings, zone_counts: &ZoneCounts) -> Self {
        let (total, down) = (zone_counts.zone_nodes.max(1), zone_counts.zone_not_ready + 1);
        // Far below the 52 bits that f64 keeps whole.
        #[allow(clippy::cast_precision_loss)]
        let share = down as f64 / total as f64;
        match () {
            () if down >= total && !zone_counts.others_ready => Self::AllDown,
            () if down >= total => Self::FullDisruption,
            () if down > 2 && share >= settings.unhealthy_zone_threshold => Self::PartialDisruption,
            () => Self::Normal,
        }
    }

    /// Nodes tainted a second; nothing if none.
    fn rate(self, settings: &ForecastSettings, zone_counts: &ZoneCounts) -> f64 {
        match self {
            Self::Normal | Self::FullDisruption => settings.eviction_rate,
            Self::PartialDisruption if zone_counts.zone_nodes > settings.large_cluster_threshold => {
                settings.secondary_eviction_rate
            }
            Self::PartialDisruption | Self::AllDown => 0.0,
        }
    }
}

/// When the cluster notices, and what it does to the Node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTimeline {
    pub zone: ZoneState,
    /// Ready becomes Unknown, the Node gets `node.kubernetes.io/unreachable:NoSchedule`, its pods leave the endpoints.
    pub unknown: Window,
    /// `node.kubernetes.io/unreachable:NoExecute`; nothing if the zone's state forbids it.
    pub tainted: Option<Window>,
}

impl ClusterTimeline {
    pub(super) fn of(settings: &ForecastSettings, zone_counts: &ZoneCounts) -> Self {
        let zone = ZoneState::of(settings, zone_counts);
        // The last renewal was up to a renewal's distance before the failure; the controller looks once a period.
        let renewal = settings.lease_duration / 4;
        let earliest = settings.monitor_grace.saturating_sub(renewal);
        let unknown = Window::new(earliest, settings.monitor_grace.saturating_add(settings.monitor_period));
        let rate = zone.rate(settings, zone_counts);
        let tainted = (rate > 0.0).then(|| unknown.plus(queue(zone_counts, rate)));
        Self { zone, unknown, tainted }
    }
}

/// The taints of a zone's nodes are set one after the other, at the zone's rate; the queue is read every 100 ms.
fn queue(zone_counts: &ZoneCounts, rate: f64) -> Window {
    let ahead = u32::try_from(zone_counts.zone_not_ready).unwrap_or(u32::MAX);
    let each = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
    Window::new(Duration::ZERO, each.saturating_mul(ahead))
}
