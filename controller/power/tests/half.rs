//! Machines with two supplies of which one does not obey.

use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::{Condition, ConditionStatus, Node},
    snapshot::{FenceScope, PowerState},
};

use super::{
    configured::{Room, room},
    fake::node,
};

/// n1 on the plugs 1 and 2, of which the second is stuck.
fn stuck() -> Room {
    let room = room();
    room.configure("n1", &[1, 2]);
    std::fs::write(room.bench.path().join("stuck2"), "").unwrap();
    room
}

async fn off(room: &Room) -> String {
    match room.power.off(&node("n1", ""), &FenceScope::default(), &room.bench.lease_deadline(60)).await.unwrap_err() {
        Failed::InDoubt(why) | Failed::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_supply_that_was_turned_off_is_on_again_when_the_other_refuses() {
    let room = stuck();
    let why = off(&room).await;
    assert!(why.contains("pdu2") && why.ends_with("pdu1 was turned on again"), "{why}");
    assert_eq!(room.bench.read("orders"), "off 1 none\non 1 none\n");
    assert_eq!((room.bench.read("plug1").trim(), room.bench.read("plug2").trim()), ("on", "on"));
    assert_eq!(room.power.read(&node("n1", ""), &FenceScope::default()).await, PowerState::On);
}

#[tokio::test]
async fn a_supply_is_on_again_when_the_other_was_not_even_asked() {
    let room = room();
    room.configure("n1", &[1, 2]);
    room.power.plan(&node("n1", "")).await.unwrap();
    room.cluster.secret_of("secret-fence-method-pdu2-n1", "passwort", "fine-word");
    assert!(off(&room).await.ends_with("pdu1 was turned on again"));
    assert_eq!(room.bench.read("plug1").trim(), "on");
}

/// What was turned on stays so: only a supply that is off unnoticed has to be taken back.
#[tokio::test]
async fn a_supply_that_was_turned_on_gets_no_second_order_when_the_other_fails() {
    let room = stuck();
    std::fs::write(room.bench.path().join("plug1"), "off\n").unwrap();
    let on = room.power.on(&node("n1", ""), &FenceScope::default(), &room.bench.lease_deadline(60)).await;
    assert!(on.is_err(), "{on:?}");
    assert_eq!(room.bench.read("orders"), "on 1 none\n");
}

#[tokio::test]
async fn nothing_is_turned_on_when_the_other_may_be_off() {
    let room = stuck();
    std::fs::write(room.bench.path().join("plug2"), "off\n").unwrap();
    let why = off(&room).await;
    assert!(!why.contains("on again"), "{why}");
    assert_eq!(room.bench.read("orders"), "off 1 none\n");
    assert_eq!(room.power.read(&node("n1", ""), &FenceScope::default()).await, PowerState::Off);
}

#[tokio::test]
async fn a_supply_that_cannot_be_turned_on_again_is_reported() {
    let room = room();
    room.configure("n1", &[1, 2]);
    for (plug, action) in [(1, "off"), (2, "off"), (3, "on")] {
        let text = format!("agent_name=fence_test\nip=pdu\nplug={plug}\nidentity=configured\naction={action}");
        room.cluster.map("fence-config-n1", &format!("fence-method-pdu{plug}"), &text);
    }
    room.cluster.map("fence-config-n1", "config.properties", "power_management=pdu1 pdu2 pdu3\noutlets=pdu/1 pdu/2");
    std::fs::write(room.bench.path().join("stuck2"), "").unwrap();
    let why = off(&room).await;
    assert!(why.ends_with("pdu1 stays off: no method turns it on"), "{why}");
}

#[tokio::test]
async fn a_supply_is_turned_on_again_by_whichever_method_turns_its_plug_on() {
    let room = stuck();
    for (method, plug, action) in [("pdu1", 1, "off"), ("pdu2", 2, "off"), ("pdu3", 1, "on")] {
        let text = format!("agent_name=fence_test\nip=pdu\nplug={plug}\nidentity=configured\naction={action}");
        room.cluster.map("fence-config-n1", &format!("fence-method-{method}"), &text);
    }
    room.cluster.map("fence-config-n1", "config.properties", "power_management=pdu1 pdu2 pdu3\noutlets=pdu/1 pdu/2");
    let why = off(&room).await;
    assert!(why.ends_with("pdu1 was turned on again"), "{why}");
    assert_eq!(room.bench.read("orders"), "off 1 none\non 1 none\n");
}

/// As its kubelet reports it.
fn ready() -> Node {
    let ready = Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() };
    Node { conditions: vec![ready], ..node("n1", "") }
}

/// One that has died is fenced the sooner.
#[tokio::test]
async fn a_machine_that_reads_off_is_wrong_while_its_node_is_ready() {
    let room = room();
    room.configure("n1", &[1]);
    std::fs::write(room.bench.path().join("plug1"), "off\n").unwrap();
    let preflight = room.power.preflight(&node("n1", "")).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::True, "FenceReady"));
    let preflight = room.power.preflight(&ready()).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "ReadsOff"));
    assert!(!preflight.message.starts_with("level"), "it has no other: {}", preflight.message);
}

#[tokio::test]
async fn a_node_that_runs_on_one_supply_is_reported_before_it_has_to_be_fenced() {
    let room = room();
    room.configure("n1", &[1, 2]);
    std::fs::write(room.bench.path().join("plug1"), "off\n").unwrap();
    let silent = node("n1", "");
    assert_eq!(
        room.power.preflight(&silent).await.status,
        ConditionStatus::True,
        "it is not Ready: it may be half off"
    );
    let preflight = room.power.preflight(&ready()).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "SupplyOff"));
    assert!(preflight.message.contains("pdu1 reports Off"), "{}", preflight.message);
}
