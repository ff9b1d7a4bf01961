//! Pods at which a drain would stop, before it is asked for: now they are a flag, later a record that waits.

use jiff::Timestamp;
use nodewell_reconcile::cluster::Pods;
use nodewell_remediation::{
    api::policy::StepSpec,
    drain::{DrainRules, PodDeleteStatus, classify},
    facts::{Node, Pod},
};

use super::super::look::one_line;
use crate::kube::KubeCluster;

/// So many are named.
const NAMED: usize = 10;

/// What there is to beware of.
#[derive(Debug, Default)]
pub(super) struct InTheWay {
    /// One for each pod, or one that says why none is known; none where these steps drain nothing.
    pub(super) sentences: Vec<String>,
    /// The drain would stop.
    pub(super) stops: bool,
}

pub(super) async fn look(cluster: &KubeCluster, node: &Node, steps: &[StepSpec]) -> InTheWay {
    let rules = steps.iter().find_map(|step| DrainRules::of(step.drain.as_ref()?).ok());
    let Some(rules) = rules else { return InTheWay::default() };
    match cluster.pods_on(&node.name).await {
        Ok(pods) => {
            let sentences = found(&pods, &rules, Timestamp::now());
            InTheWay { stops: !sentences.is_empty(), sentences }
        }
        Err(error) => {
            let unknown = format!("which pods would stop its drain is not known: {}", one_line(&error.to_string()));
            InTheWay { sentences: vec![unknown], stops: false }
        }
    }
}

fn found(pods: &[Pod], rules: &DrainRules, now: Timestamp) -> Vec<String> {
    let stops = |pod: &Pod| {
        let why = whys(pod, rules, now);
        let line = || format!("its drain stops at {}/{}: {}", pod.at.namespace, pod.at.name, one_line(&why.join("; ")));
        (!why.is_empty()).then(line)
    };
    let mut all: Vec<String> = pods.iter().filter_map(stops).collect();
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    all.extend((more > 0).then(|| format!("its drain stops at {more} more pods")));
    all
}

/// All that stops a drain at the pod, by the flags that would help: the first alone would have a person begin twice.
fn whys(pod: &Pod, rules: &DrainRules, now: Timestamp) -> Vec<String> {
    let with_data = DrainRules { delete_empty_dir_data: true, ..rules.clone() };
    let mut whys: Vec<String> = Vec::new();
    for rules in [rules, &with_data] {
        if let PodDeleteStatus::Refused(why) = classify(pod, rules, now) {
            whys.push(by_flags(&why));
        }
    }
    whys.dedup();
    whys
}

/// Fields of the drain step are this command's flags.
fn by_flags(why: &str) -> String {
    why.replace("deleteEmptyDirData: true", "--delete-emptydir-data").replace("force: true", "--force")
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::{
        api::policy::DrainStep,
        facts::{Owner, PodRef, Volume},
    };

    use super::*;

    fn pod(name: &str, is_owned: bool, volumes: Vec<Volume>) -> Pod {
        let owner = Owner { kind: "ReplicaSet".into(), name: "web".into(), uid: "u".into(), gone: false };
        Pod {
            at: PodRef { namespace: "dev".into(), name: name.into(), uid: name.into() },
            phase: "Running".into(),
            owner: is_owned.then_some(owner),
            volumes,
            ..Pod::default()
        }
    }

    fn shown(pods: &[Pod], step: &DrainStep) -> Vec<String> {
        found(pods, &DrainRules::of(step).unwrap(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn each_pod_at_which_a_drain_would_stop_is_named_with_its_flag() {
        let scratch = || vec![Volume::EmptyDir { name: "scratch".into() }];
        let pods = [pod("web", true, Vec::new()), pod("cache", true, scratch()), pod("sh", false, Vec::new())];
        let expected = [
            "its drain stops at dev/cache: the data of its emptyDir volume scratch would be lost; \
             --delete-emptydir-data would delete it",
            "its drain stops at dev/sh: no controller makes it again; --force would delete it",
        ];
        assert_eq!(shown(&pods, &DrainStep::default()), expected);
        let both = shown(&[pod("job", false, scratch())], &DrainStep::default());
        assert!(
            both[0].contains("--delete-emptydir-data would") && both[0].ends_with("--force would delete it"),
            "{both:?}"
        );
        let all = DrainStep { delete_empty_dir_data: true, force: true, ..DrainStep::default() };
        assert_eq!(shown(&pods, &all), [""; 0]);
        let many: Vec<Pod> = (0..12).map(|number| pod(&format!("sh-{number}"), false, Vec::new())).collect();
        let lines = shown(&many, &DrainStep::default());
        assert_eq!((lines.len(), lines[10].as_str()), (11, "its drain stops at 2 more pods"));
    }
}
