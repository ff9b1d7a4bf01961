//! providerIDs as the clouds' controllers write them, against the agents' options.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::method::IdentityMethod;

use super::*;

fn proven(agent: &str, id: &str, options: &[(&str, &str)]) -> Result<(), String> {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let call = ValidatedMethod {
        name: "m".into(),
        agent: agent.into(),
        options,
        secret: String::new(),
        secret_needed: false,
        needed: [].into(),
        secret_keys: BTreeMap::new(),
        identity_method: IdentityMethod::Asked,
        from_label: std::collections::BTreeSet::new(),
        storage: None,
        actions: [].into(),
        longest: Duration::ZERO,
    };
    let node = Node {
        name: "n1".into(),
        uid: "u".into(),
        resource_version: "1".into(),
        provider_id: id.into(),
        ..Node::default()
    };
    prove(&call, &node)
}

const AZURE: &str =
    "azure:///subscriptions/0a1b/resourceGroups/Prod/providers/Microsoft.Compute/virtualMachines/worker-1";
const SET: &str = "azure:///subscriptions/0a1b/resourceGroups/prod/providers/Microsoft.Compute/virtualMachineScaleSets/w/virtualMachines/0";

#[test]
fn a_machine_of_this_name_in_this_place_is_the_nodes() {
    for (agent, id, options) in [
        ("fence_aws", "aws:///eu-west-1a/i-0abc", &[("plug", "i-0abc"), ("region", "eu-west-1")][..]),
        (
            "fence_gce",
            "gce://shop/europe-west1-b/w1",
            &[("plug", "w1"), ("zone", "europe-west1-b"), ("project", "shop")],
        ),
        ("fence_azure_arm", AZURE, &[("plug", "worker-1"), ("resourceGroup", "prod"), ("subscriptionId", "0A1B")]),
        ("fence_openstack", "openstack:///7c1e", &[("plug", "7c1e")]),
        ("fence_openstack", "openstack://region/7c1e", &[("plug", "7c1e")]),
    ] {
        assert_eq!(proven(agent, id, options), Ok(()), "{agent}");
    }
}

#[test]
fn a_machine_of_the_same_name_elsewhere_is_another() {
    for (agent, id, options, message) in [
        ("fence_aws", "aws:///eu-west-1a/i-0abc", &[("plug", "i-0abd")][..], "plug is i-0abd"),
        ("fence_aws", "", &[("plug", "i-0abc")], "not one of aws"),
        ("fence_aws", "gce://a/b/i-0abc", &[("plug", "i-0abc")], "not one of aws"),
        ("fence_gce", "gce://shop/b/w1", &[("plug", "w1"), ("zone", "c"), ("project", "shop")], "zone is c"),
        ("fence_gce", "gce://shop/b/w1", &[("plug", "w1"), ("zone", "b"), ("project", "lab")], "project is lab"),
        ("fence_gce", "gce://shop/b/w1", &[("plug", "w1"), ("zone", "b")], "write project=shop"),
        ("fence_gce", "gce:///w1", &[("plug", "w1"), ("zone", "b")], "has no zone"),
        (
            "fence_azure_arm",
            AZURE,
            &[("plug", "worker-1"), ("resourceGroup", "lab"), ("subscriptionId", "0a1b")],
            "resourceGroup is lab",
        ),
        ("fence_azure_arm", AZURE, &[("plug", "worker-1"), ("resourceGroup", "prod")], "write subscriptionId=0a1b"),
        (
            "fence_azure_arm",
            SET,
            &[("plug", "0"), ("resourceGroup", "prod"), ("subscriptionId", "0a1b")],
            "a scale set",
        ),
        ("fence_openstack", "openstack:///7c1e", &[], "write plug=7c1e"),
    ] {
        let error = proven(agent, id, options).unwrap_err();
        assert!(error.contains(message), "{agent} {options:?}: {message} is not in: {error}");
    }
}
