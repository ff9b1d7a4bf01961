//! Which pods have to go, in the order of kubectl's filters (`pkg/drain/filters.go`): the first that does not let a pod go
//! decides about it.

use jiff::{SignedDuration, Timestamp};

use crate::{
    api::policy::{Requirement, Selector},
    facts::{Pod, Volume},
};

use super::DrainRules;

/// After the field of a drain step that would have a pod deleted.
pub(crate) const BY_OPTION: &str = ": true would delete it";

/// What is to become of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodDeleteStatus {
    /// It has to go; a drain ends when it is gone.
    Go,
    /// It stays, and the drain does not wait for it.
    Stays(String),
    /// It may not be deleted, and while it is there the node is not drained.
    Refused(String),
}

/// The message names the field of the drain step that would decide otherwise.
#[must_use]
pub fn classify(pod: &Pod, rules: &DrainRules, now: Timestamp) -> PodDeleteStatus {
    let filters = [selected, not_deleting_for_long, no_daemon_set, no_mirror, no_local_data, managed];
    filters.iter().find_map(|filter| filter(pod, rules, now)).unwrap_or(PodDeleteStatus::Go)
}

/// First, because kubectl asks the API server for nothing but these: other pods cannot stand in the way either.
fn selected(pod: &Pod, rules: &DrainRules, _now: Timestamp) -> Option<PodDeleteStatus> {
    let selector = rules.pod_selector.as_ref()?;
    (!selects(selector, pod)).then(|| PodDeleteStatus::Stays("podSelector does not select it".to_owned()))
}

fn not_deleting_for_long(pod: &Pod, rules: &DrainRules, now: Timestamp) -> Option<PodDeleteStatus> {
    // kubectl's 0 is off.
    let (limit, deletion) = (rules.skip_deleting_for.filter(|limit| !limit.is_zero())?, pod.deleting?);
    let limit = SignedDuration::try_from(limit).ok()?;
    let age = now.duration_since(deletion.at);
    (age > limit).then(|| {
        PodDeleteStatus::Stays(format!("it should have been gone {} s ago (skipWaitForDeleteTimeout)", age.as_secs()))
    })
}

fn no_daemon_set(pod: &Pod, rules: &DrainRules, _now: Timestamp) -> Option<PodDeleteStatus> {
    let owner = pod.owner.as_ref().filter(|owner| owner.kind == "DaemonSet")?;
    if pod.is_finished() {
        return None;
    }
    match (owner.gone, rules.ignore_daemon_sets) {
        (true, _) if rules.force => None,
        (true, _) => Some(refused(format!("its DaemonSet {} is gone and nothing makes it again", owner.name), "force")),
        (false, true) => Some(PodDeleteStatus::Stays(format!("DaemonSet {} would make it again at once", owner.name))),
        (false, false) => Some(refused(format!("DaemonSet {} manages it", owner.name), "ignoreDaemonSets")),
    }
}

/// The kubelet runs them from a file; the API server only shows them.
fn no_mirror(pod: &Pod, _rules: &DrainRules, _now: Timestamp) -> Option<PodDeleteStatus> {
    pod.mirror.then(|| PodDeleteStatus::Stays("a static pod: only the node itself can stop it".to_owned()))
}

fn no_local_data(pod: &Pod, rules: &DrainRules, _now: Timestamp) -> Option<PodDeleteStatus> {
    let name = pod.volumes.iter().find_map(|volume| match volume {
        Volume::EmptyDir { name } => Some(name),
        _ => None,
    })?;
    let lost = !pod.is_finished() && !rules.delete_empty_dir_data;
    lost.then(|| refused(format!("the data of its emptyDir volume {name} would be lost"), "deleteEmptyDirData"))
}

fn managed(pod: &Pod, rules: &DrainRules, _now: Timestamp) -> Option<PodDeleteStatus> {
    if pod.is_finished() || pod.owner.is_some() || rules.force {
        return None;
    }
    let why = match pod.owned_by_others {
        true => "none of its owners controls it, so nothing makes it again",
        false => "no controller makes it again",
    };
    Some(refused(why.to_owned(), "force"))
}

fn refused(why: String, field: &str) -> PodDeleteStatus {
    PodDeleteStatus::Refused(format!("{why}; {field}{BY_OPTION}"))
}

/// An operator that is not known selects nothing: fewer pods are deleted, never more.
fn selects(selector: &Selector, pod: &Pod) -> bool {
    let labels = &pod.labels;
    let equal = selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
    let meets = |one: &Requirement| match (one.operator.as_str(), labels.get(&one.key)) {
        ("In", value) => value.is_some_and(|value| one.values.contains(value)),
        ("NotIn", value) => value.is_none_or(|value| !one.values.contains(value)),
        ("Exists", value) => value.is_some(),
        ("DoesNotExist", value) => value.is_none(),
        _ => false,
    };
    equal && selector.match_expressions.iter().all(meets)
}
