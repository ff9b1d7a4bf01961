//! What becomes of the pods of a node that fails, with the settings of clusters of all kinds.

use nodewell_remediation::{
    facts::{Effect, Owner, Pod, PodRef, Toleration, Volume, VolumeClaim},
    snapshot::{FenceLevel, FencePlan},
};
use proptest::prelude::*;

use super::*;

fn pod(name: &str, owner: Option<&str>) -> Pod {
    Pod {
        at: PodRef { namespace: "shop".into(), name: name.into(), uid: name.into() },
        node: "worker-7".into(),
        phase: "Running".into(),
        ready: true,
        owner: owner.map(|kind| Owner { kind: kind.into(), name: "o".into(), uid: "u".into(), gone: false }),
        grace: Duration::from_secs(30),
        // What the DefaultTolerationSeconds admission plug-in adds.
        tolerations: vec![toleration("node.kubernetes.io/unreachable", Some(300))],
        ..Pod::default()
    }
}

fn toleration(key: &str, seconds: Option<i64>) -> Toleration {
    Toleration { key: key.into(), value: String::new(), exists: true, effect: None, seconds }
}

fn claim(name: &str, one_node_only: Option<bool>) -> Volume {
    Volume::Claim(VolumeClaim {
        name: name.into(),
        one_node_only,
        driver: Some("csi.x".into()),
        ..VolumeClaim::default()
    })
}

fn zone_counts() -> ZoneCounts {
    ZoneCounts { zone_nodes: 10, zone_not_ready: 0, others_ready: true }
}

fn forecast_of(pods: &[Pod], zone_counts: &ZoneCounts, remediation: Option<&Remediation>) -> NodeForecast {
    forecast("worker-7", pods, ForecastSettings::defaults(Some(33)), zone_counts, remediation)
}

fn end(pod: Pod) -> ClusterOutcome {
    forecast_of(&[pod], &zone_counts(), None).pods[0].cluster
}

fn window(earliest: u64, latest: u64) -> Window {
    Window::new(Duration::from_secs(earliest), Duration::from_secs(latest))
}

fn remediation() -> Remediation {
    Remediation {
        policy: "stateful".into(),
        silent_for: Some(Duration::from_secs(15)),
        held_for: Duration::ZERO,
        evidence: Some("its BMC says OFF".into()),
        off: Some(Duration::from_secs(8)),
        storage_only: None,
        blockers: Vec::new(),
    }
}

#[test]
fn a_stateless_pod_is_replaced_after_350_seconds() {
    let forecast = forecast_of(&[pod("web", Some("ReplicaSet"))], &zone_counts(), None);
    assert_eq!(forecast.cluster.unknown, window(40, 55));
    assert_eq!(forecast.pods[0].cluster, ClusterOutcome::Replaced(window(340, 355)), "50 s + 300 s, give or take");
    let before = super::forecast(
        "n",
        &[pod("web", Some("ReplicaSet"))],
        ForecastSettings::defaults(Some(31)),
        &zone_counts(),
        None,
    );
    assert_eq!(before.pods[0].cluster, ClusterOutcome::Replaced(window(330, 345)), "340 s before 1.32");
}

#[test]
fn each_kind_of_owner_has_its_own_end() {
    let with = |mut pod: Pod, change: &dyn Fn(&mut Pod)| {
        change(&mut pod);
        end(pod)
    };
    assert_eq!(end(pod("db-0", Some("StatefulSet"))), ClusterOutcome::NeverReplaced);
    assert_eq!(end(pod("agent", Some("DaemonSet"))), ClusterOutcome::Stays);
    assert_eq!(end(pod("bare", None)), ClusterOutcome::Lost);
    assert_eq!(end(pod("job", Some("Job"))), ClusterOutcome::Replaced(window(340, 355)));
    assert_eq!(end(pod("odd", Some("VirtualMachine"))), ClusterOutcome::UpToOwner(window(340, 355)));
    assert_eq!(with(pod("etcd", Some("Node")), &|pod| pod.mirror = true), ClusterOutcome::Stays);
    assert_eq!(with(pod("done", None), &|pod| pod.phase = "Succeeded".into()), ClusterOutcome::Finished);
    let deployment = || pod("web", Some("ReplicaSet"));
    let held = |claim: Volume| with(deployment(), &|pod| pod.volumes = vec![claim.clone()]);
    let waits =
        ClusterOutcome::WaitsForVolume { replaced: window(340, 355), after_removal: Some(Duration::from_mins(6)) };
    assert_eq!(held(claim("data", Some(true))), waits);
    assert_eq!(held(claim("data", None)), waits, "not read: better one too many");
    assert_eq!(held(claim("data", Some(false))), ClusterOutcome::Replaced(window(340, 355)));
}

#[test]
fn tolerations_decide_when_a_pod_is_marked() {
    let with = |tolerations: Vec<Toleration>| {
        let mut pod = pod("web", Some("ReplicaSet"));
        pod.tolerations = tolerations;
        end(pod)
    };
    let unreachable = "node.kubernetes.io/unreachable";
    assert_eq!(with(vec![]), ClusterOutcome::Replaced(window(40, 55)), "at once");
    assert_eq!(with(vec![toleration(unreachable, None)]), ClusterOutcome::NotEvicted, "never");
    assert_eq!(with(vec![toleration("", Some(10))]), ClusterOutcome::Replaced(window(50, 65)), "every key");
    let two = vec![toleration(unreachable, None), toleration(unreachable, Some(5))];
    assert_eq!(with(two), ClusterOutcome::Replaced(window(45, 60)), "the shortest counts");
    let negative = with(vec![toleration(unreachable, Some(-7))]);
    assert_eq!(negative, ClusterOutcome::Replaced(window(40, 55)));
    let mut other = toleration(unreachable, Some(5));
    other.effect = Some(Effect::NoSchedule);
    assert_eq!(with(vec![other]), ClusterOutcome::Replaced(window(40, 55)), "another effect tolerates nothing here");
}

#[test]
fn the_zone_decides_whether_anything_is_evicted() {
    let state = |zone_nodes, zone_not_ready, others_ready| {
        let path = forecast_of(&[], &ZoneCounts { zone_nodes, zone_not_ready, others_ready }, None).cluster;
        (path.zone, path.tainted)
    };
    assert_eq!(state(10, 0, true), (ZoneState::Normal, Some(window(40, 55))));
    assert_eq!(state(10, 4, true), (ZoneState::Normal, Some(window(40, 95))), "one after the other, 10 s apart");
    assert_eq!(state(10, 5, true), (ZoneState::PartialDisruption, None), "55 % and a small zone");
    assert_eq!(state(2, 0, true).0, ZoneState::Normal, "fewer than three are no disruption");
    let large = state(100, 59, true);
    assert_eq!(large, (ZoneState::PartialDisruption, Some(window(40, 55 + 5900))), "a hundredth a second");
    assert_eq!(state(3, 2, true), (ZoneState::FullDisruption, Some(window(40, 75))));
    assert_eq!(state(3, 2, false), (ZoneState::AllDown, None), "then it is its own fault");
    assert_eq!(state(1, 0, false), (ZoneState::AllDown, None));
}

#[test]
fn ours_is_beside_it() {
    let pods = [pod("db-0", Some("StatefulSet")), pod("bare", None), pod("agent", Some("DaemonSet"))];
    let forecast = forecast_of(&pods, &zone_counts(), Some(&remediation()));
    let ours = forecast.remediation.as_ref().unwrap();
    assert_eq!(ours.silent, window(5, 15));
    assert_eq!((ours.off, ours.released), (Some(window(6, 23)), Some(window(6, 25))));
    let ends: Vec<Option<RemediationOutcome>> = forecast.pods.iter().map(|pod| pod.remediation).collect();
    assert_eq!(
        ends,
        [
            RemediationOutcome::Released(window(6, 25)),
            RemediationOutcome::Lost(window(6, 25)),
            RemediationOutcome::Stays
        ]
        .map(Some)
    );

    let unfenced = Remediation { off: None, ..remediation() };
    assert_eq!(
        forecast_of(&pods, &zone_counts(), Some(&unfenced)).pods[0].remediation,
        Some(RemediationOutcome::AsCluster)
    );
}

/// A time and a `never` of the same act contradict each other.
#[test]
fn what_is_blocked_has_no_time() {
    let blocked = Remediation { blockers: vec!["Observe".into(), "BudgetZone".into()], ..remediation() };
    let forecast = forecast_of(&[pod("db-0", Some("StatefulSet"))], &zone_counts(), Some(&blocked));
    let text = render(&forecast, 200).join("\n");
    assert!(!text.contains("released after") && !text.contains("power confirmed off"), "{text}");
    assert!(!text.contains("times of nodewell"), "{text}");
    assert!(text.contains("never        nodewell  turns it off as things stand: Observe, BudgetZone"), "{text}");
    assert!(!text.contains("this node cannot be fenced") && text.contains("nodewell frees 0 of these"), "{text}");
}

#[test]
fn a_node_that_is_dead_is_not_described_as_if_it_failed_now() {
    let mut forecast = whole();
    forecast.failed_for = Some(Duration::from_secs(120));
    let text = render(&forecast, 200).join("\n");
    assert!(
        text.starts_with("worker-7 failed 2m ago. From that moment on:\n") && !text.contains("If worker-7"),
        "{text}"
    );
    assert!(text.contains("40s–55s (over)") && text.contains("5m40s–5m55s     cluster"), "{text}");
    assert!(text.contains("6s–25s (due)") && !text.contains("6s–25s (over)"), "{text}");
    assert_eq!(serde_json::to_value(&forecast).unwrap()["failedSecondsAgo"], 120.0);
}

#[test]
fn a_method_for_one_storage_releases_only_its_pods() {
    let mut stored = pod("db-0", Some("StatefulSet"));
    stored.volumes = vec![claim("data", Some(true))];
    let only = Remediation { storage_only: Some("csi.x".into()), ..remediation() };
    let forecast = forecast_of(&[stored, pod("db-1", Some("StatefulSet"))], &zone_counts(), Some(&only));
    assert!(matches!(forecast.pods[0].remediation, Some(RemediationOutcome::Released(_))));
    assert_eq!(forecast.pods[1].remediation, Some(RemediationOutcome::AsCluster));
}

fn whole() -> NodeForecast {
    let mut shared = pod("web-5d9c", Some("ReplicaSet"));
    shared.volumes = vec![claim("uploads", Some(true)), Volume::EmptyDir { name: "tmp".into() }];
    let mut deleting = pod("db-0", Some("StatefulSet"));
    deleting.finalizers = true;
    let forecast = forecast_of(
        &[pod("api-7f", Some("ReplicaSet")), shared, deleting, pod("debug", None)],
        &zone_counts(),
        Some(&remediation()),
    );
    NodeForecast { fencing: two_levels(), ..forecast }
}

/// A BMC that is another machine's, and two outlets.
fn two_levels() -> Vec<FencingLevel> {
    let error = "bmc: it reports the system 4c4c4544, and ConfigMap fence-config-worker-7 has 674523a1".to_owned();
    let level = |methods: &[&str], identity, asks_machine| FenceLevel {
        methods: methods.iter().map(|name| (*name).to_owned()).collect(),
        identity,
        asks_machine,
        ..FenceLevel::default()
    };
    let levels = vec![level(&["bmc"], Some(Err(error)), true), level(&["pdu-a", "pdu-b"], Some(Ok(())), false)];
    FencingLevel::all(&FencePlan { levels, ..FencePlan::default() })
}

#[test]
fn the_level_that_turns_it_off_is_the_first_one_that_is_its_own() {
    let is_used = |levels: &[FencingLevel]| levels.iter().map(|one| one.used).collect::<Vec<_>>();
    assert_eq!(is_used(&two_levels()), [false, true]);
    let mut proven = two_levels();
    assert_eq!(proven[1].state(), "turns it off");
    (proven[1].used, proven[0].error) = (false, None);
    assert_eq!(proven[1].state(), "if those before it fail");
    assert!(proven[0].state().contains("not asked yet"), "{:?}", proven[0]);
    let json = serde_json::to_value(two_levels()).unwrap();
    assert_eq!((&json[0]["level"], &json[0]["proven"]), (&1.into(), &false.into()));
    assert!(json[0]["error"].as_str().unwrap().contains("4c4c4544") && json[1].get("error").is_none(), "{json}");
}

#[test]
fn as_text_it_looks_like_this() {
    let text = render(&whole(), 100).join("\n");
    assert_eq!(text, include_str!("tests/wide.txt").trim_end());
    let narrow = render(&whole(), 60).join("\n");
    assert_eq!(narrow, include_str!("tests/narrow.txt").trim_end());
}

#[test]
fn as_json_times_are_seconds() {
    let json = serde_json::to_value(whole()).unwrap();
    assert_eq!(json["cluster"]["unknown"], serde_json::json!({ "earliestSeconds": 40.0, "latestSeconds": 55.0 }));
    assert_eq!(json["settings"]["nodeMonitorGracePeriodSeconds"], 50.0);
    assert_eq!(json["pods"][0]["cluster"], "NeverReplaced");
    assert_eq!(json["pods"][1]["cluster"]["WaitsForVolume"]["afterRemovalSeconds"], 360.0);
    assert_eq!(json["settings"]["forceDetachAfterSeconds"], 360.0);
    assert_eq!(json["remediation"]["released"]["latestSeconds"], 25.0);
}

proptest! {
    #[test]
    fn no_line_is_too_long_and_no_word_is_lost(width in 60_usize..200, name in "[a-z0-9-]{1,63}") {
        let forecast = forecast_of(&[pod(&name, Some("ReplicaSet"))], &zone_counts(), Some(&remediation()));
        let lines = render(&forecast, width);
        for line in &lines {
            prop_assert!(line.chars().count() <= width, "{line}");
            prop_assert_eq!(line.trim_end(), line.as_str());
        }
    }

    #[test]
    fn nothing_of_the_clusters_is_earlier_with_more_nodes_down(down in 0_usize..200, total in 1_usize..200) {
        let at = |zone_not_ready| {
            let zone_counts = ZoneCounts { zone_nodes: total, zone_not_ready, others_ready: true };
            forecast_of(&[], &zone_counts, None).cluster
        };
        let (fewer, more) = (at(down), at(down + 1));
        prop_assert_eq!(fewer.unknown, more.unknown);
        if let (Some(fewer), Some(more), true) = (fewer.tainted, more.tainted, fewer.zone == more.zone) {
            prop_assert!(fewer <= more);
        }
    }
}
