//! A node with two fencing levels: what is wrong with one is not wrong with the other, and each acts by its own methods alone.

use std::time::Duration;

use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::{Condition, ConditionStatus, FENCE_READY},
    snapshot::{FenceScope, Level, PowerState},
};

use tokio::time::timeout;

use super::{
    configured::{Room, room},
    fake::node,
};

const FIRST: FenceScope = FenceScope { storage: None, level: Level(1) };
const SECOND: FenceScope = FenceScope { storage: None, level: Level(2) };

/// n1 by plug 1 of a device of its own, then by the plugs 2 and 3 of another one.
fn two_levels() -> Room {
    let room = room();
    let map = "fence-config-n1";
    let config = "power_management=vm\npower_management.2=a b\noutlets=pdu/2 pdu/3 pdu/1";
    room.cluster.map(map, "config.properties", config);
    room.cluster.map(map, "fence-method-vm", "agent_name=fence_test\nip=pdu\nplug=1\nsystem-uuid=x");
    for (method, plug) in [("a", 2), ("b", 3)] {
        let text = format!("agent_name=fence_test\nip=pdu\nplug={plug}\nidentity=configured");
        room.cluster.map(map, &format!("fence-method-{method}"), &text);
    }
    room
}

#[tokio::test]
async fn a_level_that_is_not_proven_leaves_the_other_one_as_it_is() {
    let room = two_levels();
    let (node, lease_deadline) = (node("n1", ""), room.bench.lease_deadline(60));
    let plan = room.power.plan(&node).await.unwrap();
    assert_eq!([&plan.levels[0].methods, &plan.levels[1].methods], [&["vm"][..], &["a", "b"]]);
    // fence_test cannot be asked who it is.
    assert!(plan.levels[0].identity.as_ref().unwrap().is_err());
    assert_eq!(plan.levels[1].identity, Some(Ok(())));
    assert_eq!([plan.levels[0].asks_machine, plan.levels[1].asks_machine], [true, false]);
    assert_eq!(plan.longest(), plan.levels[1].longest);
    assert!(matches!(room.power.off(&node, &FIRST, &lease_deadline).await, Err(Failed::NotBegun(_))));
    assert_eq!(room.power.read(&node, &FIRST).await, PowerState::Unknown);
    assert_eq!(room.bench.read("orders"), "", "an act of one level is never carried out by another");
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::On);
    assert_eq!(room.power.off(&node, &SECOND, &lease_deadline).await.unwrap(), ["a", "b"]);
    assert_eq!(room.bench.read("orders"), "off 2 none\noff 3 none\n");
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::Off);
    room.power.on(&node, &SECOND, &lease_deadline).await.unwrap();
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::On);
}

#[tokio::test]
async fn both_supplies_of_a_level_have_to_be_off() {
    let room = two_levels();
    let (node, lease_deadline) = (node("n1", ""), room.bench.lease_deadline(60));
    std::fs::write(room.bench.path().join("stuck3"), "").unwrap();
    let failed = room.power.off(&node, &SECOND, &lease_deadline).await.unwrap_err();
    assert!(matches!(&failed, Failed::InDoubt(why) if why.contains("a was turned on again")), "{failed:?}");
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::On);
}

#[tokio::test]
async fn a_level_that_is_not_there_any_more_does_nothing() {
    let room = two_levels();
    let (node, lease_deadline) = (node("n1", ""), room.bench.lease_deadline(60));
    room.power.plan(&node).await.unwrap();
    let third = FenceScope::machine(Level(3));
    assert_eq!(room.power.read(&node, &third).await, PowerState::Unknown);
    assert!(matches!(room.power.off(&node, &third, &lease_deadline).await, Err(Failed::NotBegun(_))));
    assert_eq!(room.bench.read("orders"), "");
}

#[tokio::test]
async fn the_outlets_of_a_further_level_are_no_other_nodes() {
    let room = two_levels();
    room.configure("n2", &[3]);
    room.power.unread([node("n1", ""), node("n2", "")].iter());
    room.power.plan(&node("n2", "")).await.ok();
    let plan = room.power.plan(&node("n1", "")).await.unwrap();
    let shared = plan.levels[1].identity.clone().unwrap().unwrap_err();
    assert!(shared.contains("n1 and n2 are on one plug"), "{shared}");
    let lease_deadline = room.bench.lease_deadline(60);
    assert!(matches!(room.power.off(&node("n1", ""), &SECOND, &lease_deadline).await, Err(Failed::NotBegun(_))));
    assert_eq!(room.bench.read("orders"), "");
}

/// The node could be fenced, and by one way less than is thought.
#[tokio::test]
async fn a_level_that_fails_its_preflight_is_named() {
    let room = two_levels();
    let preflight = room.power.preflight(&node("n1", "")).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "FenceNotReady"));
    assert!(preflight.message.starts_with("level 1: "), "{}", preflight.message);
}

/// Its outlets are another machine's, or nothing hangs on them.
#[tokio::test]
async fn a_level_that_reported_off_of_a_machine_that_runs_is_not_believed() {
    let room = two_levels();
    let turn = |state: &str| {
        for plug in [2, 3] {
            std::fs::write(room.bench.path().join(format!("plug{plug}")), format!("{state}\n")).unwrap();
        }
    };
    let (mut node, lease_deadline) = (node("n1", ""), room.bench.lease_deadline(60));
    node.conditions.push(Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() });
    turn("off");
    assert_eq!(room.power.preflight(&node).await.reason, "ReadsOff", "before what else is wrong");
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::Off, "the node may have died right before");
    assert!(!room.power.is_contradicted(&node, Some(room.bench.now().plus(Duration::from_secs(14)))));
    assert!(room.power.is_contradicted(&node, Some(room.bench.now().plus(Duration::from_secs(15)))));
    assert!(room.power.is_contradicted(&node, None), "from then on, whatever is seen of its kubelet");
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::Unknown);
    assert!(matches!(room.power.off(&node, &SECOND, &lease_deadline).await, Err(Failed::NotBegun(_))));
    assert_eq!(room.bench.read("orders"), "");
    let plan = room.power.plan(&node).await.unwrap();
    let why = plan.levels[1].identity.clone().unwrap().unwrap_err();
    assert!(why.contains("reported Off while the node's kubelet spoke"), "{why}");
    // Cut off, and alive: the next leader has to learn it.
    let mut silent = node.clone();
    silent.conditions.clear();
    let found = room.power.preflight(&silent).await;
    assert!(found.reason == "ReadsOff" && found.message.starts_with("level 2: "), "{found:?}");
    turn("on");
    room.power.preflight(&node).await;
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::On);
}

#[tokio::test]
async fn the_next_leader_does_not_believe_it_either_whatever_became_of_the_node() {
    let room = two_levels();
    for plug in [2, 3] {
        std::fs::write(room.bench.path().join(format!("plug{plug}")), "off\n").unwrap();
    }
    let mut silent = node("n1", "");
    let status = ConditionStatus::False;
    let written = Condition { kind: FENCE_READY.into(), status, reason: "ReadsOff".into(), ..Condition::default() };
    silent.conditions.push(written);
    assert_eq!(room.power.read(&silent, &SECOND).await, PowerState::Unknown);
    assert_eq!(room.power.preflight(&silent).await.reason, "ReadsOff", "the node is not Ready");
    room.cluster.map("fence-config-n1", "config.properties", "power_management=unheard-of");
    assert_eq!(room.power.preflight(&silent).await.reason, "ReadsOff", "nor can its methods be read");
    assert_eq!(room.power.read(&silent, &SECOND).await, PowerState::Unknown);
}

/// What an earlier term has seen is no word against what another leader has written since.
#[tokio::test]
async fn a_term_begins_with_what_the_node_has() {
    let room = two_levels();
    let mut node = node("n1", "");
    room.power.preflight(&node).await;
    let status = ConditionStatus::False;
    let written = Condition { kind: FENCE_READY.into(), status, reason: "ReadsOff".into(), ..Condition::default() };
    node.conditions.push(written);
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::On, "it was seen on in this term");
    room.power.end_term();
    assert_eq!(room.power.read(&node, &SECOND).await, PowerState::Unknown);
}

/// What each level waits for while it is asked who it is.
#[tokio::test]
async fn one_of_several_levels_is_not_waited_for_longer_than_ten_seconds() {
    let preflight = async |room: Room| {
        room.power.plan(&node("n1", "")).await.unwrap();
        *room.cluster.is_hanging.lock().unwrap() = true;
        tokio::time::pause();
        let preflight = timeout(Duration::from_secs(3600), async { room.power.preflight(&node("n1", "")).await }).await;
        tokio::time::resume();
        preflight.ok()
    };
    let preflight_of_two = preflight(two_levels()).await.unwrap();
    assert!(preflight_of_two.message.contains("no answer within 10 s"), "{}", preflight_of_two.message);
    let only = room();
    only.configure("n1", &[1]);
    assert!(preflight(only).await.is_none(), "there is no other way");
}

#[tokio::test]
async fn a_level_whose_secret_is_wrong_is_no_other_levels_fault() {
    let room = two_levels();
    room.cluster.secret_of("secret-fence-method-vm-n1", "passwort", "fine-word");
    let plan = room.power.plan(&node("n1", "")).await.unwrap();
    assert!(plan.levels[0].identity.as_ref().unwrap().is_err());
    assert_eq!(plan.levels[1].identity, Some(Ok(())));
}
