//! A person's pin names the machine: a kubelet's report may contradict it, and only the Secret binds its password.

use nodewell_reconcile::power::Power;
use nodewell_remediation::{action::Failed, facts::Node, snapshot::FenceScope};

use super::{
    configured::{Room, room},
    fake::node,
};

const PINNED: &str = "00112233-4455-6677-8899-aabbccddeeff";
const OTHER: &str = "10112233-4455-6677-8899-aabbccddeeff";

/// Why it may not be fenced, and that nothing was ordered.
async fn unproven(room: &Room, node: &Node) -> String {
    let why = room.power.plan(node).await.unwrap().levels[0].identity.clone().unwrap().unwrap_err();
    assert_eq!(room.power.preflight(node).await.reason, "IdentityUnproven");
    assert!(matches!(
        room.power.off(node, &FenceScope::default(), &room.bench.lease_deadline(60)).await,
        Err(Failed::NotBegun(_))
    ));
    assert_eq!(room.bench.read("orders"), "");
    why
}

fn steps(room: &Room, text: &str) {
    room.cluster.map("fence-config-n1", "config.properties", text);
}

#[tokio::test]
async fn outlets_not_named_for_the_node_turn_nothing_off() {
    let room = room();
    room.configure("n1", &[1, 2]);
    let node = node("n1", "");
    for (outlets, expected) in [
        ("", "no outlets= says that n1 hangs on pdu/1 pdu/2 and on no other outlet"),
        ("outlets=pdu/1", "says that n1 hangs on pdu/1, and its methods turn pdu/1 pdu/2 off"),
        ("outlets=pdu/1 pdu/2 pdu/3", "says that n1 hangs on pdu/1 pdu/2 pdu/3"),
        ("outlets=pdu/1 pdu/4", "says that n1 hangs on pdu/1 pdu/4"),
    ] {
        steps(&room, &format!("power_management=pdu1 pdu2\n{outlets}"));
        room.power.retain(|_| false);
        room.power.survey(room.power.unread([&node].into_iter())).await;
        let why = unproven(&room, &node).await;
        assert!(why.contains(expected), "{why}");
        assert!(
            why.ends_with("write outlets=pdu/1 pdu/2 into config.properties of the ConfigMap fence-config-n1"),
            "{why}"
        );
    }
    // What is shown is what is taken.
    steps(&room, "power_management=pdu1 pdu2\noutlets=pdu/1 pdu/2");
    room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
}

#[tokio::test]
async fn a_node_that_moved_to_another_machine_is_not_turned_off_by_the_old_ones_plug() {
    let room = room();
    room.configure("n1", &[1]);
    steps(&room, &format!("power_management=pdu1\noutlets=pdu/1\nsystem_uuid={PINNED}"));
    let why = unproven(&room, &node("n1", OTHER)).await;
    assert!(why.contains(OTHER) && why.contains(PINNED) && why.contains("fence-config-n1"), "{why}");
    // A kubelet that reports nothing does not contradict, and the machine's own report agrees.
    for uuid in ["", PINNED] {
        room.power.off(&node("n1", uuid), &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    }
}

/// A kubelet may give its Node the label of any type.
#[tokio::test]
async fn a_label_chooses_no_plug() {
    let room = room();
    room.cluster.map("fence-config-type-big", "config.properties", "power_management=pdu1");
    room.cluster.map(
        "fence-config-type-big",
        "fence-method-pdu1",
        "agent_name=fence_test\nip=pdu\nplug=1\nidentity=configured",
    );
    let mut node = node("n1", "");
    node.labels.insert("type".into(), "big".into());
    assert!(unproven(&room, &node).await.contains("no outlets= says that n1 hangs on pdu/1"));
    // The node's own ConfigMap names its machine, and leaves the steps to the type.
    steps(&room, "outlets=pdu/1");
    room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    assert_eq!(room.bench.read("orders"), "off 1 none\n");
}

#[tokio::test]
async fn a_password_goes_only_where_its_secret_allows() {
    let secret = "secret-fence-method-pdu1-n1";
    for (address, node_of, expected) in [
        (None, None, "it is bound to no address for no node"),
        (Some("pdu"), None, "it is bound to pdu for no node"),
        (None, Some("n1"), "it is bound to no address for n1"),
        (Some("10.0.9.1 pdu.example.com"), Some("n1"), "it is bound to 10.0.9.1 pdu.example.com for n1"),
        (Some("*"), Some("n1"), "it is bound to * for n1"),
        (Some("pdu"), Some("n2 n11"), "it is bound to pdu for n2 n11"),
    ] {
        let room = room();
        room.configure("n1", &[1]);
        let pairs = [("password", Some("word-1234")), ("address", address), ("node", node_of)];
        let data = pairs.iter().filter_map(|(key, value)| Some(((*key).to_owned(), (*value)?.as_bytes().to_vec())));
        room.cluster.secrets.lock().unwrap().insert(secret.to_owned(), data.collect());
        let node = node("n1", "");
        let blocker = room.power.plan(&node).await.unwrap_err();
        assert!(blocker.message.contains(expected) && !blocker.message.contains("word-1234"), "{blocker:?}");
        assert!(blocker.message.contains("give it the keys address: \"pdu\" and node: \"n1\""), "{blocker:?}");
        assert!(matches!(
            room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await,
            Err(Failed::NotBegun(_))
        ));
        assert_eq!(room.bench.read("orders"), "");
    }
    let room = room();
    room.configure("n1", &[1]);
    room.cluster.bound(secret, "password", "word-1234", "pdu-2 PDU");
    room.power.off(&node("n1", ""), &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    assert_eq!(room.bench.read("orders"), "off 1 word-1234\n");
}

/// Between two looks a client writes another address: the agent is not given the password for it.
#[tokio::test]
async fn an_address_that_is_edited_gets_no_password() {
    let room = room();
    room.configure("n1", &[1]);
    room.cluster.bound("secret-fence-method-pdu1-n1", "password", "word-1234", "pdu");
    let node = node("n1", "");
    room.power.plan(&node).await.unwrap();
    let text = "agent_name=fence_test\nip=evil\nplug=1\nidentity=configured";
    room.cluster.map("fence-config-n1", "fence-method-pdu1", text);
    steps(&room, "power_management=pdu1\noutlets=evil/1");
    let failed = room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap_err();
    assert!(matches!(&failed, Failed::NotBegun(why) if why.contains("is not given to evil")), "{failed:?}");
    assert_eq!(room.bench.read("orders"), "");
}
