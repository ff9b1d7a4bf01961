//! A machine behind an outlet: `fence_apc_snmp` and net-snmp's programs against a simulated PDU that feeds a real process.

use std::{sync::Arc, time::Duration};

use nodewell_bmc::{Bmc, COMMUNITY, Manner, Pdu};
use nodewell_power::native::{NativePower, Settings};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::{Condition, ConditionStatus, Node},
    snapshot::{FenceScope, Level, PowerState},
};

use crate::{
    bench::Bench,
    fake::{Fake, node},
    real::{Cases, run},
};

const GUID: &str = "a123456789abcdefa123456789abcd01";
const OUTLET: u8 = 7;
const SCOPE: FenceScope = FenceScope { storage: None, level: Level::FIRST };

pub(crate) const CASES: Cases = &[
    ("an_outlet_is_on_after_a_lost_feed_and_is_turned_off_by_order", || run(lost_feed())),
    ("another_community_reads_nothing_and_orders_nothing", || run(another_community())),
    ("an_outlet_that_is_not_there_is_unknown", || run(no_such_outlet())),
    ("by_snmp_2c_it_reads_off_and_is_not_believed_once_the_kubelet_spoke", || run(no_such_outlet_by_2c())),
];

struct Room {
    bench: Bench,
    power: NativePower<Fake>,
    pdu: Pdu,
    bmc: Arc<Bmc>,
    node: Node,
}

/// A node behind this outlet, of which the PDU has number 7.
fn room(outlet: u8, community: &str) -> Room {
    room_by("1", outlet, community)
}

/// The same by a version of SNMP.
fn room_by(version: &str, outlet: u8, community: &str) -> Room {
    let (bench, cluster) = (Bench::new(), Arc::new(Fake::default()));
    let (pdu, bmc) = (Pdu::start().unwrap(), Arc::new(Bmc::start(GUID, Manner::Obeys).unwrap()));
    pdu.plug_in(OUTLET, &bmc);
    let pins = format!("power_management=pdu\noutlets=127.0.0.1/{}/{outlet}", pdu.port);
    cluster.map("fence-config-n1", "config.properties", &pins);
    let method = format!("agent_name=fence_apc_snmp\n{}", pdu.options(outlet));
    let method = method.replace("snmp_version=1", &format!("snmp_version={version}"));
    cluster.map("fence-config-n1", "fence-method-pdu", &method);
    cluster.secret_of("secret-fence-method-pdu-n1", "community", community);
    let power = NativePower::new(Arc::clone(&cluster), bench.runner(), Settings::default());
    power.unread([node("n1", "")].iter());
    Room { bench, power, pdu, bmc, node: node("n1", "") }
}

async fn lost_feed() {
    let Room { bench, power, pdu, bmc, node } = room(OUTLET, COMMUNITY);
    let lease_deadline = bench.lease_deadline(60);
    assert_eq!(power.read(&node, &SCOPE).await, PowerState::On);
    pdu.feed(OUTLET, false);
    assert_eq!((bmc.is_on(), power.read(&node, &SCOPE).await), (false, PowerState::On), "an outlet shows no current");
    assert_eq!(power.off(&node, &SCOPE, &lease_deadline).await.unwrap(), ["pdu"]);
    assert_eq!((pdu.is_on(OUTLET), power.read(&node, &SCOPE).await), (false, PowerState::Off));
    pdu.feed(OUTLET, true);
    assert!(!bmc.is_on(), "the feed is back, and the outlet is off");
    power.on(&node, &SCOPE, &lease_deadline).await.unwrap();
    assert_eq!((bmc.is_on(), power.read(&node, &SCOPE).await), (true, PowerState::On));
}

async fn another_community() {
    let Room { bench, power, pdu, bmc, node } = room(OUTLET, "another");
    assert_eq!(power.read(&node, &SCOPE).await, PowerState::Unknown);
    let ordered = power.off(&node, &SCOPE, &bench.lease_deadline(60)).await;
    assert!(
        matches!(&ordered, Err(Failed::InDoubt(why) | Failed::Refused(why)) if !why.contains("another")),
        "{ordered:?}"
    );
    assert!(pdu.is_on(OUTLET) && bmc.is_on());
}

async fn no_such_outlet() {
    // Whole: what is not named would end here, and the PDU with it.
    let room = room(9, COMMUNITY);
    assert_eq!(room.power.read(&room.node, &SCOPE).await, PowerState::Unknown);
    let why = room.power.preflight(&room.node).await.message;
    assert!(why.contains("noSuchName"), "{why}");
}

/// The agent takes every answer that is not On for Off.
async fn no_such_outlet_by_2c() {
    let Room { bench, power, bmc, mut node, pdu } = room_by("2c", 9, COMMUNITY);
    node.conditions.push(Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() });
    assert_eq!((power.read(&node, &SCOPE).await, bmc.is_on()), (PowerState::Off, true), "the agent reports so");
    assert_eq!(power.preflight(&node).await.reason, "ReadsOff");
    assert!(power.is_contradicted(&node, Some(bench.now().plus(Duration::from_secs(15)))));
    assert!(!pdu.is_on(9), "there is no such outlet");
    assert_eq!(power.read(&node, &SCOPE).await, PowerState::Unknown);
}
