//! Two nodes on one plug: nothing is known of it before both were read.

use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::{ConditionStatus, Node},
    snapshot::{FenceScope, PowerState},
};

use super::{
    configured::{Room, room},
    fake::node,
};

fn nodes() -> [Node; 2] {
    [node("n1", ""), node("n2", "")]
}

/// What speaks against turning n1 off, and that nothing was ordered.
async fn refused(room: &Room) -> String {
    let blocker = room.power.plan(&node("n1", "")).await.unwrap_err();
    assert_eq!(blocker.reason, "FenceNotReady", "{blocker:?}");
    let refusal = format!("{}: {}", blocker.reason, blocker.message);
    match room.power.off(&node("n1", ""), &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap_err() {
        Failed::NotBegun(why) => assert_eq!(why, refusal),
        other => panic!("{other:?}"),
    }
    assert_eq!(room.power.read(&node("n1", ""), &FenceScope::default()).await, PowerState::Unknown);
    assert_eq!(room.bench.read("orders"), "");
    refusal
}

#[tokio::test]
async fn a_node_whose_neighbour_was_never_read_is_not_turned_off() {
    let room = room();
    room.configure("n1", &[1]);
    room.configure("n2", &[1]);
    let unread = room.power.unread(nodes().iter());
    assert_eq!(unread.len(), 2);
    assert!(refused(&room).await.contains("1 nodes were not read yet (n2)"));
    let preflight = room.power.preflight(&node("n1", "")).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::Unknown, "FenceNotReady"));
    room.power.survey(unread).await;
    assert!(refused(&room).await.contains("on one plug"));
    assert!(room.power.unread(nodes().iter()).is_empty());
    room.cluster.maps.lock().unwrap().remove("fence-config-n2");
    room.configure("n2", &[2]);
    room.power.survey(nodes().into()).await;
    room.power.off(&node("n1", ""), &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap();
    assert_eq!(room.bench.read("orders"), "off 1 none\n");
}

#[tokio::test]
async fn before_the_nodes_are_listed_nothing_is_turned_off() {
    let settings = nodewell_power::native::Settings::default();
    let mut room = room();
    let settings = nodewell_power::native::Settings { agents: room.bench.path().to_owned(), ..settings };
    room.power = nodewell_power::native::NativePower::new(room.cluster.clone(), room.bench.runner(), settings);
    room.configure("n1", &[1]);
    assert!(refused(&room).await.contains("not listed yet"));
}

#[tokio::test]
async fn a_node_that_comes_later_is_read_first() {
    let room = room();
    room.configure("n1", &[1]);
    room.power.plan(&node("n1", "")).await.unwrap();
    let unread = room.power.unread(nodes().iter());
    assert_eq!(unread.len(), 1);
    assert!(refused(&room).await.contains("(n2)"));
    room.power.survey(unread).await;
    room.power.plan(&node("n1", "")).await.unwrap();
}

#[tokio::test]
async fn what_the_api_server_does_not_answer_stays_unread() {
    let room = room();
    room.configure("n1", &[1]);
    let unread = room.power.unread(nodes().iter());
    *room.cluster.down.lock().unwrap() = true;
    room.power.survey(unread).await;
    *room.cluster.down.lock().unwrap() = false;
    assert_eq!(room.power.unread(nodes().iter()).len(), 2);
    assert!(refused(&room).await.contains("(n2)"));
}

#[tokio::test]
async fn a_neighbour_with_errors_counts_as_wired_to_what_it_names() {
    let room = room();
    room.configure("n1", &[1]);
    let wrong = |ip: &str| {
        room.configure("n2", &[1]);
        let text = format!("agent_name=fence_test\nip={ip}\nplug=1\nmethd=x");
        room.cluster.map("fence-config-n2", "fence-method-pdu1", &text);
        room.cluster.map("fence-config-n2", "config.properties", "power_management=pdu1");
    };
    wrong("PDU");
    room.power.survey(room.power.unread(nodes().iter())).await;
    assert!(refused(&room).await.contains("the ConfigMaps of n2 name pdu too and have errors"));
    wrong("another");
    room.power.survey(nodes().into()).await;
    room.power.plan(&node("n1", "")).await.unwrap();
}

#[tokio::test]
async fn a_node_that_is_gone_blocks_no_other_and_is_read_again_when_it_is_back() {
    let room = room();
    room.configure("n1", &[1]);
    room.cluster.map("fence-config-n2", "config.properties", "power_management=pdu1");
    room.cluster.map("fence-config-n2", "fence-method-pdu1", "agent_name=fence_test\nip=pdu\nplug=1\nmethd=x");
    room.power.survey(room.power.unread(nodes().iter())).await;
    assert!(refused(&room).await.contains("have errors"));
    room.power.retain(|name| name == "n1");
    assert!(room.power.unread(nodes()[..1].iter()).is_empty());
    room.power.plan(&node("n1", "")).await.unwrap();
    let unread = room.power.unread(nodes().iter());
    assert_eq!(unread.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n2"]);
}

/// Templates are read once for all nodes of a look.
#[tokio::test]
async fn a_neighbour_with_errors_is_not_wired_to_what_it_does_not_name() {
    let room = room();
    room.cluster.map("rack", "template.properties", "agent_name=fence_test\nip=pdu\nidentity=configured");
    room.cluster.map("fence-config-n1", "config.properties", "power_management=a\noutlets=pdu/1");
    room.cluster.map("fence-config-n1", "fence-method-a", "template=rack\nplug=1");
    room.cluster.map("fence-config-n2", "config.properties", "power_management=a");
    room.cluster.map("fence-config-n2", "fence-method-a", "agent_name=fence_test\nip=another\nplug=1\nmethd=x");
    room.power.unread(nodes().iter());
    room.power.look(nodes().into()).await;
    room.power.plan(&node("n1", "")).await.unwrap();
}
