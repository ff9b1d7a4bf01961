//! Errors in ConfigMaps and Secrets: each is reported with its file and line and what to do, by the condition and by the plan,
//! and nothing is run by it.

use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::ConditionStatus,
    snapshot::{FenceScope, PowerState},
};

use super::{configured::room, fake::node};

const GOOD: &str = "agent_name=fence_test\nip=pdu\nplug=1\nidentity=configured";

#[tokio::test]
async fn each_is_reported_with_its_location_and_what_to_do() {
    for (method, parts) in [
        (
            "agent_name=fence_gone\nip=1",
            &["fence-config-n1/fence-method-pdu1:1:", "fence_gone", "install the package"][..],
        ),
        ("ip=1\nagent_name=/bin/sh", &["fence-config-n1/fence-method-pdu1:2:", "write the agent's name alone"]),
        (
            "agent_name=fence_test\nip=1\nmethd=x",
            &["fence-config-n1/fence-method-pdu1:3:", "no option methd; `fence_test -o metadata` has them all"],
        ),
        ("agent_name=fence_test", &["fence-config-n1/fence-method-pdu1:1:", "needs the option ip"]),
        (
            "agent_name=fence_test\nip=1\nidentity=configured\npassword-script=/x",
            &["method pdu1", "no Secret secret-fence-method-pdu1-n1; create it"],
        ),
        (
            "agent_name=fence_test\nip=1\nidentity=configured\nsecret=secret-fence-method-none",
            &["method pdu1", "no Secret secret-fence-method-none; create it"],
        ),
        ("agent_name=fence_test\nip=1\ntemplate=none", &["fence-method-pdu1:3:", "no ConfigMap none"]),
        ("agent_name=fence_test\nip=1\npassword=hunter2", &["fence-method-pdu1:3:", "put it into the method's Secret"]),
    ] {
        let room = room();
        room.configure("n1", &[1]);
        room.cluster.map("fence-config-n1", "fence-method-pdu1", method);
        room.cluster.map("fence-config-n1", "config.properties", "power_management=pdu1\noutlets=1");
        let node = node("n1", "");
        let refusal = room.power.preflight(&node).await;
        assert_eq!((refusal.status, refusal.reason.as_str()), (ConditionStatus::False, "FenceNotReady"), "{refusal:?}");
        let plan = room.power.plan(&node).await.unwrap_err().message;
        let Err(Failed::NotBegun(off)) =
            room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await
        else {
            panic!("{method}")
        };
        for text in [&refusal.message, &plan, &off] {
            assert!(parts.iter().all(|part| text.contains(part)), "{parts:?} are not in: {text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
        assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
        assert_eq!(room.bench.read("orders"), "", "{method}");
    }
}

#[tokio::test]
async fn a_plug_of_two_nodes_is_reported_for_both_with_what_to_do() {
    let room = room();
    room.configure("n1", &[1, 3]);
    room.configure("n2", &[2, 3]);
    let nodes = [node("n1", ""), node("n2", "")];
    // Whichever is read first knows nothing of the other yet.
    let _ = room.power.plan(&nodes[0]).await;
    for node in [&nodes[1], &nodes[0]] {
        let refusal = room.power.preflight(node).await;
        assert_eq!((refusal.status, refusal.reason.as_str()), (ConditionStatus::False, "FenceNotReady"));
        for part in ["n1", "n2", "on one plug", "correct the plug in the ConfigMaps of one"] {
            assert!(refusal.message.contains(part), "{refusal:?}");
        }
    }
    assert_eq!(room.bench.read("orders"), "");
}

/// What was turned off is what is asked afterwards, though its ConfigMap names another plug by then.
#[tokio::test]
async fn an_edit_after_the_act_does_not_have_another_plug_confirm_it() {
    let room = room();
    room.configure("n1", &[1]);
    let node = node("n1", "");
    room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    room.cluster.map("fence-config-n1", "fence-method-pdu1", &GOOD.replace("plug=1", "plug=2"));
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Off);
    std::fs::write(room.bench.path().join("plug1"), "on\n").unwrap();
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::On, "it is plug 1 that is asked");
    // The next act goes by what is written then, all of it.
    room.accept("n1", &[2]);
    room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    assert_eq!(room.bench.read("orders"), "off 1 none\noff 2 none\n");
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Off);
}

#[tokio::test]
async fn a_configuration_deleted_or_broken_between_two_acts_begins_nothing() {
    let room = room();
    room.configure("n1", &[1]);
    let (node, lease_deadline) = (node("n1", ""), room.bench.lease_deadline(60));
    room.power.off(&node, &FenceScope::default(), &lease_deadline).await.unwrap();
    room.cluster.maps.lock().unwrap().clear();
    let Err(Failed::NotBegun(refusal)) = room.power.on(&node, &FenceScope::default(), &lease_deadline).await else {
        panic!("it was begun")
    };
    assert!(refusal.contains("NoMethods") && refusal.contains("write a ConfigMap fence-config-n1"), "{refusal}");
    assert_eq!(room.power.plan(&node).await.unwrap_err().reason, "NoMethods");
    room.configure("n1", &[1]);
    room.cluster.map("fence-config-n1", "config.properties", "power_management=pdu1\npower_managment=pdu1");
    let Err(Failed::NotBegun(refusal)) = room.power.on(&node, &FenceScope::default(), &lease_deadline).await else {
        panic!("it was begun")
    };
    assert!(refusal.contains("fence-config-n1/config.properties:2: power_managment is not known"), "{refusal}");
    assert_eq!(room.bench.read("orders"), "off 1 none\n");
}

/// What may be a secret need not be in the method, and has to be somewhere.
#[tokio::test]
async fn an_option_that_the_agent_needs_and_no_secret_has_is_named() {
    let room = room();
    room.configure("n1", &[1]);
    let metadata = room.bench.read("metadata.xml").replace(r#"name="password""#, r#"name="password" required="1""#);
    std::fs::write(room.bench.path().join("metadata.xml"), metadata).unwrap();
    let missing = room.power.plan(&node("n1", "")).await.unwrap_err().message;
    let expected = "fence_test needs the option password; give it as a key of the Secret secret-fence-method-pdu1-n1";
    assert!(missing.contains(expected), "{missing}");
    room.cluster.secret_of("secret-fence-method-pdu1-n1", "password", "fine-word");
    room.power.plan(&node("n1", "")).await.unwrap();
}

/// A BMC that is asked without a password refuses that, and counts it.
#[tokio::test]
async fn a_user_without_a_secret_is_not_logged_in() {
    let room = room();
    room.configure("n1", &[1]);
    let user = r#"<parameter name="username"><content type="string"/></parameter><parameter name="password""#;
    let metadata = room.bench.read("metadata.xml").replacen(r#"<parameter name="password""#, user, 1);
    std::fs::write(room.bench.path().join("metadata.xml"), metadata).unwrap();
    let map = "fence-config-n1";
    let call = |rest: &str| room.cluster.map(map, "fence-method-pdu1", &format!("{GOOD}{rest}"));
    call("\nusername=fence");
    let missing = room.power.plan(&node("n1", "")).await.unwrap_err().message;
    let expected = "there is no Secret secret-fence-method-pdu1-n1; create it, with the key password";
    assert!(missing.contains(expected), "{missing}");
    room.cluster.secret_of("secret-fence-method-pdu1-n1", "password", "fine-word");
    room.power.plan(&node("n1", "")).await.unwrap();
}
