//! Which pods are on one storage alone.

use proptest::prelude::*;

use super::*;

fn pod(volumes: Vec<Volume>) -> Pod {
    Pod {
        at: PodRef { namespace: "default".into(), name: "p".into(), uid: "u".into() },
        node: "n1".into(),
        phase: "Running".into(),
        ready: true,
        grace: Duration::from_secs(30),
        volumes,
        ..Pod::default()
    }
}

fn volumes() -> impl Strategy<Value = Vec<Volume>> {
    let name = || prop::option::of(prop::sample::select(vec!["san".to_owned(), "nfs".to_owned()]));
    let claim = (name(), name()).prop_map(|(storage_class, driver)| {
        Volume::Claim(VolumeClaim { storage_class, driver, ..VolumeClaim::default() })
    });
    let other = prop_oneof![Just(Volume::Other), Just(Volume::EmptyDir { name: "tmp".into() })];
    prop::collection::vec(prop_oneof![claim, other], 0..5)
}

proptest! {
    /// A pod that is released by it has nowhere else to write to, and one more volume never lets it be released.
    #[test]
    fn a_pod_on_one_storage_has_claims_and_each_names_it(volumes in volumes(), more in volumes()) {
        let is_only = pod(volumes.clone()).uses_only_storage("san");
        let claims: Vec<VolumeClaim> = volumes.iter().filter_map(Volume::claim).cloned().collect();
        let all = claims.iter().all(|claim| claim.driver.as_deref() == Some("san") || claim.storage_class.as_deref() == Some("san"));
        prop_assert_eq!(is_only, all && !claims.is_empty());
        let whole = pod([volumes, more].concat());
        prop_assert!(is_only || claims.is_empty() || !whole.uses_only_storage("san"));
    }
}
