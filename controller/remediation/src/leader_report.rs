//! What the controller that decides reports of itself and of every node it has something to say of: an object of its own,
//! from which `plan` and `kubectl nodewell` show what the leader does, and not what a person's machine would decide.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{api::fence::Blocker, guard::budgets::BudgetUsage, node_report::NodeReport};

/// The ConfigMap in the namespace of the controller's own Leases.
pub const NAME: &str = "nodewell-controller-plan";
/// Where it is in there.
pub const KEY: &str = "plan.json";
/// It is written at least so often; an older one than this is of a controller that is gone.
pub const FRESH: SignedDuration = SignedDuration::from_secs(150);
/// What a ConfigMap of 1 MiB has room for beside its metadata; a cluster in a storm has thousands of nodes to name.
const MOST_BYTES: usize = 256 * 1024;
const MESSAGE_CHARS: usize = 512;

/// By one controller, at one time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    pub host: String,
    /// What the configuration calls the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    pub written: Timestamp,
    /// 0 in a dry run, which has none.
    pub term: u64,
    pub dry_run: bool,
    pub version: String,
    pub configuration: Configuration,
    /// Why node-reaper's configuration is not acted on.
    pub node_reaper_refused: Vec<String>,
    pub budgets: Vec<Budget>,
    /// The first to change first.
    pub nodes: Vec<NodeReport>,
    /// How many more had no room.
    pub left_out: usize,
}

/// What of its configuration decides on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Configuration {
    /// Its own Node, which it never acts on.
    pub node: Option<String>,
    /// Without it no control-plane node is touched.
    pub etcd: bool,
    pub probes: Vec<String>,
    /// Where other remediators' Leases are.
    pub claims: Option<String>,
    pub node_reaper: Option<String>,
    pub kdump: bool,
}

/// [`BudgetUsage`] as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    pub policy: String,
    pub field: String,
    pub living: usize,
    pub max_unavailable: usize,
    pub dead: usize,
    pub max_dead: usize,
}

impl From<&BudgetUsage> for Budget {
    fn from(usage: &BudgetUsage) -> Self {
        Self {
            policy: usage.policy.clone(),
            field: usage.field.to_owned(),
            living: usage.living,
            max_unavailable: usage.most_living,
            dead: usage.dead,
            max_dead: usage.most_dead,
        }
    }
}

impl Report {
    /// The nodes of which there is something to say, the first to change first.
    #[must_use]
    pub fn with_nodes(mut self, all: &[NodeReport]) -> Self {
        let mut nodes: Vec<NodeReport> = all.iter().filter(|node| !node.is_quiet()).map(cut).collect();
        nodes.sort_by(|one, other| (one.urgency(), &one.node).cmp(&(other.urgency(), &other.node)));
        let mut room = MOST_BYTES;
        let fits = |node: &NodeReport| {
            let size = serde_json::to_string(node).map_or(usize::MAX, |text| text.len() + 1);
            room = room.saturating_sub(size);
            room > 0
        };
        let fitting = nodes.iter().map(fits).take_while(|fits| *fits).count();
        self.left_out = nodes.len() - fitting;
        nodes.truncate(fitting);
        self.nodes = nodes;
        self
    }

    /// The same but for the time: then there is nothing to write.
    #[must_use]
    pub fn is_news(&self, before: &Self) -> bool {
        Self { written: before.written, ..self.clone() } != *before
    }

    /// Whether the controller that wrote it still runs, by the clock of the one who reads.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        now.duration_since(self.written).abs() < FRESH
    }
}

fn cut(report: &NodeReport) -> NodeReport {
    let short = |text: &str| text.chars().take(MESSAGE_CHARS).collect::<String>();
    NodeReport {
        blockers: report.blockers.iter().map(|one| Blocker { message: short(&one.message), ..one.clone() }).collect(),
        errors: report.errors.iter().map(|(policy, error)| (policy.clone(), short(error))).collect(),
        next: report.next.as_deref().map(short),
        ..report.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, next: Option<&str>, blockers: usize) -> NodeReport {
        NodeReport {
            node: name.into(),
            policy: Some("p".into()),
            next: next.map(str::to_owned),
            blockers: (0..blockers).map(|_| Blocker::new("Storm", "x".repeat(2000))).collect(),
            ..NodeReport::default()
        }
    }

    #[test]
    fn what_changes_first_comes_first_and_what_is_well_not_at_all() {
        let well = NodeReport { node: "a".into(), ..NodeReport::default() };
        let nodes = [well, node("b", Some("powerCycle"), 1), node("c", Some("cordon"), 0), node("d", None, 0)];
        let report = Report::default().with_nodes(&nodes);
        let names: Vec<&str> = report.nodes.iter().map(|node| node.node.as_str()).collect();
        assert_eq!((names.as_slice(), report.left_out), (["c", "b", "d"].as_slice(), 0));
    }

    #[test]
    fn it_has_room_in_a_config_map_whatever_fails() {
        let nodes: Vec<NodeReport> = (0..5000)
            .map(|number| node(&format!("n{number}"), Some("powerCycle"), 4))
            .chain([node("z", Some("cordon"), 0)])
            .collect();
        let report = Report::default().with_nodes(&nodes);
        assert!(json!(report).to_string().len() < 300 * 1024);
        assert!(report.left_out > 4000 && report.left_out + report.nodes.len() == 5001);
        assert_eq!(report.nodes[0].node, "z", "what is left out is what waits");
    }

    #[test]
    fn what_is_stored_is_what_is_read_and_time_alone_is_no_news() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let report = Report { host: "cp-1".into(), written: at("2026-01-01T00:00:00Z"), ..Report::default() };
        let report = report.with_nodes(&[node("b", Some("powerCycle"), 1)]);
        let read: Report = serde_json::from_str(&json!(report).to_string()).unwrap();
        assert_eq!(read, report);
        let later = Report { written: at("2026-01-01T00:02:00Z"), ..report.clone() };
        assert!(!later.is_news(&report) && Report { dry_run: true, ..later.clone() }.is_news(&report));
        assert!(report.is_fresh(at("2026-01-01T00:02:00Z")) && !report.is_fresh(at("2026-01-01T00:03:00Z")));
    }
}
