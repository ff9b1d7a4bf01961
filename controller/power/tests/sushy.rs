//! Real power over Redfish: `fence_redfish` and our own question for identity, over TLS, against OpenStack's emulator, whose
//! systems are processes.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_bmc::{Behavior, PASSWORD, Redfish};
use nodewell_power::native::{NativePower, Settings};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::{Condition, ConditionStatus, Node},
    snapshot::{FenceScope, PowerState},
    time::Moment,
};

use crate::{
    bench::Bench,
    fake::{Fake, node},
    real::{Cases, run},
};

const UUID: &str = "a1234567-89ab-4def-a123-456789abcdef";
/// The same machine as a kernel reads it whose firmware has the first three fields the other way round.
const SWAPPED: &str = "674523a1-ab89-ef4d-a123-456789abcdef";
const OTHER: &str = "b1234567-89ab-4def-a123-456789abcdef";

pub(crate) const CASES: Cases = &[
    ("off_ends_the_system_and_on_starts_it", || run(off_and_on())),
    ("off_of_one_system_leaves_its_neighbour", || run(neighbours())),
    ("a_uuid_in_either_order_or_pinned_is_the_same_machine", || run(orders_of_bytes())),
    ("another_machines_system_is_never_acted_upon", || run(wrong_system())),
    ("a_system_under_another_name_is_reported_with_its_own", || run(redirected())),
    ("a_wrong_password_begins_nothing_and_is_not_shown", || run(wrong_password())),
    ("an_untrusted_certificate_is_not_asked_anything", || run(self_signed())),
    ("a_certificate_of_the_files_authority_is_trusted_by_us_and_the_agent", || run(signed())),
    ("a_bmc_that_hangs_in_its_answer_is_unknown", || run(hangs())),
    ("an_order_whose_answer_never_ends_is_in_doubt_and_read_again", || run(hangs_at_orders())),
    ("a_bmc_that_answers_late_is_waited_for", || run(late())),
    ("a_system_that_ignores_off_stays_on", || run(unmoved(Behavior::Ignores))),
    ("an_account_that_may_not_order_turns_nothing_off", || run(unmoved(Behavior::Forbids))),
    ("a_bmc_that_lies_is_seen_while_the_node_is_ready_or_a_second_method_disagrees", || run(lies())),
    ("two_nodes_on_one_system_are_refused_whatever_plug_is", || run(shared())),
];

struct Room {
    bench: Bench,
    cluster: Arc<Fake>,
    power: NativePower<Fake>,
}

fn room() -> Room {
    room_with(None)
}

fn room_with(ca_file: Option<PathBuf>) -> Room {
    let (bench, cluster) = (Bench::new(), Arc::new(Fake::default()));
    // What is mended in a test is looked at again at once.
    let settings = Settings { refresh_refused: Duration::ZERO, ca_file, ..Settings::default() };
    let power = NativePower::new(Arc::clone(&cluster), bench.runner(), settings);
    Room { bench, cluster, power }
}

impl Room {
    /// A node of this name behind this system; its machine is `UUID`.
    fn behind(&self, name: &str, bmc: &Redfish, uuid: &str, more: &str) -> Node {
        self.method(name, "bmc", &format!("{}ssl_insecure=1\n{more}", bmc.options(uuid)));
        self.cluster.map(&format!("fence-config-{name}"), "config.properties", &steps(bmc, uuid, more));
        self.power.unread([node(name, uuid)].iter());
        // As after the minute for which a configuration counts.
        self.power.retain(|other| other != name);
        node(name, UUID)
    }

    fn method(&self, name: &str, method: &str, options: &str) {
        let text = format!("agent_name=fence_redfish\n{options}");
        self.cluster.map(&format!("fence-config-{name}"), &format!("fence-method-{method}"), &text);
        self.cluster.secret_of(&format!("secret-fence-method-{method}-{name}"), "password", PASSWORD);
    }

    async fn off(&self, node: &Node) -> Result<Vec<String>, Failed> {
        self.power.off(node, &FenceScope::default(), &self.bench.lease_deadline(180)).await
    }

    /// Why it may not be fenced.
    async fn refusal(&self, node: &Node) -> String {
        let preflight = self.power.preflight(node).await;
        assert_eq!(preflight.status, ConditionStatus::False, "{preflight:?}");
        format!("{}: {}", preflight.reason, preflight.message)
    }
}

/// With what a person has recorded of its machine.
fn steps(bmc: &Redfish, uuid: &str, more: &str) -> String {
    let options = bmc.options(uuid);
    let port = options.lines().find_map(|line| line.strip_prefix("ipport=")).unwrap();
    let outlets = format!("outlets=127.0.0.1/{port}/redfish/v1/systems/{uuid}\n");
    let is_configured = more.contains("identity=configured");
    let pin = if more.contains("system-uuid") { String::new() } else { format!("system_uuid={}\n", machine_of(uuid)) };
    format!("power_management=bmc\n{pin}{}", if is_configured { &outlets } else { "" })
}

/// The node's machine: the system's, or `UUID` where the test puts it behind a wrong one.
fn machine_of(uuid: &str) -> &str {
    if uuid == OTHER { OTHER } else { UUID }
}

fn bmc() -> Redfish {
    Redfish::start(&[UUID]).unwrap()
}

async fn off_and_on() {
    let (room, bmc) = (room(), bmc());
    let node = room.behind("n1", &bmc, UUID, "");
    assert_eq!(room.power.plan(&node).await.unwrap().levels[0].identity, Some(Ok(())));
    assert_eq!((bmc.is_on(UUID), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::On));
    assert_eq!(room.power.preflight(&node).await.reason, "FenceReady");
    let boot = bmc.boot(UUID);
    assert_eq!(room.off(&node).await.unwrap(), ["bmc"]);
    assert!(!bmc.is_on(UUID));
    assert_eq!(
        [room.power.read(&node, &FenceScope::default()).await, room.power.read(&node, &FenceScope::default()).await],
        [PowerState::Off; 2]
    );
    room.off(&node).await.unwrap();
    assert_eq!(bmc.orders(), 1, "what is off is not ordered off again");
    room.power.on(&node, &FenceScope::default(), &room.bench.lease_deadline(180)).await.unwrap();
    assert_eq!((bmc.is_on(UUID), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::On));
    assert!(bmc.boot(UUID) != boot && bmc.orders() == 2);
    bmc.order(UUID, "0");
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Off, "another client turned it off");
}

async fn neighbours() {
    let (room, bmc) = (room(), Redfish::start(&[UUID, OTHER]).unwrap());
    let (one, mut two) = (room.behind("n1", &bmc, UUID, ""), room.behind("n2", &bmc, OTHER, ""));
    two.system_uuid = OTHER.into();
    assert_eq!(room.power.preflight(&one).await.reason, "FenceReady");
    assert_eq!(room.power.preflight(&two).await.reason, "FenceReady", "one address, and another system");
    room.off(&two).await.unwrap();
    assert_eq!((bmc.is_on(UUID), bmc.is_on(OTHER)), (true, false));
    assert_eq!(
        (room.power.read(&one, &FenceScope::default()).await, room.power.read(&two, &FenceScope::default()).await),
        (PowerState::On, PowerState::Off)
    );
}

async fn orders_of_bytes() {
    let (room, bmc) = (room(), bmc());
    let mut node = room.behind("n1", &bmc, UUID, "");
    for uuid in [UUID.to_uppercase().as_str(), SWAPPED] {
        node.system_uuid = uuid.into();
        assert_eq!(room.power.plan(&node).await.unwrap().levels[0].identity, Some(Ok(())), "{uuid}");
    }
    node.system_uuid = OTHER.into();
    let unproven = room.power.plan(&node).await.unwrap().levels[0].identity.clone().unwrap().unwrap_err();
    assert!(unproven.contains(UUID) && unproven.contains(OTHER), "{unproven}");
    let pinned = room.behind("n2", &bmc, UUID, &format!("system-uuid={UUID}"));
    let pinned = Node { system_uuid: OTHER.into(), ..pinned };
    room.power.retain(|other| other == "n2");
    assert_eq!(
        room.power.plan(&pinned).await.unwrap().levels[0].identity,
        Some(Ok(())),
        "a BMC with a UUID of its own"
    );
}

async fn wrong_system() {
    let (room, bmc) = (room(), Redfish::start(&[UUID, OTHER]).unwrap());
    let node = room.behind("n1", &bmc, OTHER, "");
    room.cluster.map("fence-config-n1", "config.properties", &format!("power_management=bmc\nsystem_uuid={UUID}"));
    assert!(room.refusal(&node).await.contains("another machine's BMC"));
    assert!(matches!(room.off(&node).await, Err(Failed::NotBegun(_))));
    let node = room.behind("n1", &bmc, "no-such-system", "");
    let refusal = room.refusal(&node).await;
    assert!(refusal.contains("404") && refusal.contains("no-such-system"), "{refusal}");
    assert!(matches!(room.off(&node).await, Err(Failed::NotBegun(_))));
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
    assert_eq!((bmc.orders(), bmc.is_on(UUID), bmc.is_on(OTHER)), (0, true, true));
}

async fn redirected() {
    let (room, bmc) = (room(), bmc());
    let node = room.behind("n1", &bmc, &format!("machine-{UUID}"), "");
    let refusal = room.refusal(&node).await;
    assert!(refusal.contains(&format!("write systems_uri=/redfish/v1/Systems/{UUID}")), "{refusal}");
    assert!(matches!(room.off(&node).await, Err(Failed::NotBegun(_))));
}

async fn wrong_password() {
    let (room, bmc) = (room(), bmc());
    let node = room.behind("n1", &bmc, UUID, "");
    room.cluster.secret_of("secret-fence-method-bmc-n1", "password", "not-the-word");
    let refusal = room.refusal(&node).await;
    assert!(refusal.contains("401") && !refusal.contains("not-the-word"), "{refusal}");
    // Without the identity's question it is the agent that fails.
    let node = room.behind("n1", &bmc, UUID, "identity=configured");
    room.cluster.secret_of("secret-fence-method-bmc-n1", "password", "not-the-word");
    let refusal = room.refusal(&node).await;
    assert!(refusal.contains("NoAnswer") && !refusal.contains("not-the-word"), "{refusal}");
    assert!(matches!(room.off(&node).await, Err(Failed::Refused(_))));
    assert_eq!((bmc.orders(), bmc.is_on(UUID)), (0, true));
}

async fn self_signed() {
    let (room, bmc) = (room(), bmc());
    for more in ["", "identity=configured\n"] {
        let node = room.behind("n1", &bmc, UUID, more);
        room.method("n1", "bmc", &format!("{}{more}", bmc.options(UUID)));
        let refusal = room.refusal(&node).await;
        assert!(refusal.contains("ertificate") || refusal.contains("CERTIFICATE"), "{refusal}");
        assert!(room.off(&node).await.is_err());
        assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
    }
    assert_eq!((bmc.requests(), bmc.is_on(UUID)), (Vec::new(), true), "the password was sent to no server");
}

/// `ca-file` is what both go by, and the host's own authorities count no more.
async fn signed() {
    let (bmc, other) = (bmc(), bmc());
    for (ca_file, is_trusted) in [(bmc.ca_file(), true), (other.ca_file(), false)] {
        let room = room_with(Some(ca_file));
        for more in ["", "identity=configured\n"] {
            let node = room.behind("n1", &bmc, UUID, more);
            room.method("n1", "bmc", &format!("{}{more}", bmc.options(UUID)));
            let preflight = room.power.preflight(&node).await;
            assert_eq!(preflight.status == ConditionStatus::True, is_trusted, "{preflight:?}");
            let state = if is_trusted { PowerState::On } else { PowerState::Unknown };
            assert_eq!(room.power.read(&node, &FenceScope::default()).await, state);
        }
    }
    assert!(!bmc.requests().is_empty() && other.requests().is_empty());
    let asked = bmc.requests().len();
    let room = room_with(Some(other.ca_file()));
    let node = room.behind("n1", &bmc, UUID, "");
    room.method("n1", "bmc", &bmc.options(UUID));
    assert!(room.refusal(&node).await.contains("certificate"));
    assert_eq!(bmc.requests().len(), asked, "the password was sent to no server");
}

async fn hangs() {
    let (room, bmc) = (room(), bmc());
    bmc.behave(Behavior::Hangs);
    let node = room.behind("n1", &bmc, UUID, "power-timeout=2");
    let refusal = room.refusal(&node).await;
    assert!(refusal.contains("no answer within"), "{refusal}");
    // What was proven before does not help: the agent hangs as well, and has its time.
    bmc.behave(Behavior::Obeys);
    assert_eq!(room.power.plan(&node).await.unwrap().levels[0].identity, Some(Ok(())));
    bmc.behave(Behavior::Hangs);
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
    bmc.behave(Behavior::Obeys);
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::On);
}

async fn hangs_at_orders() {
    let (room, bmc) = (room(), bmc());
    let node = room.behind("n1", &bmc, UUID, "power-timeout=2");
    room.power.plan(&node).await.unwrap();
    bmc.behave(Behavior::HangsAtOrders);
    assert_eq!(room.off(&node).await.unwrap_err(), Failed::Timeout(Duration::from_secs(14)));
    assert_eq!(
        (bmc.is_on(UUID), room.power.read(&node, &FenceScope::default()).await),
        (true, PowerState::On),
        "what it is decides"
    );
}

async fn late() {
    let (room, bmc) = (room(), bmc());
    bmc.behave(Behavior::Late);
    let node = room.behind("n1", &bmc, UUID, "power-timeout=60");
    assert_eq!(room.power.preflight(&node).await.reason, "FenceReady");
    room.off(&node).await.unwrap();
    assert_eq!((bmc.is_on(UUID), room.power.read(&node, &FenceScope::default()).await), (false, PowerState::Off));
}

async fn unmoved(behavior: Behavior) {
    let (room, bmc) = (room(), bmc());
    let node = room.behind("n1", &bmc, UUID, "power-timeout=3");
    bmc.behave(behavior);
    let failed = room.off(&node).await.unwrap_err();
    assert!(matches!(failed, Failed::Refused(_) | Failed::Timeout(_)), "{failed:?}");
    assert_eq!((bmc.is_on(UUID), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::On));
    assert!(bmc.orders() > 0, "it was ordered");
}

/// What one BMC alone cannot show, and what can: see "A BMC that lies" in docs/fence-config.md.
async fn lies() {
    let (room, bmc, honest) = (room(), bmc(), bmc());
    let mut node = room.behind("n1", &bmc, UUID, "");
    bmc.behave(Behavior::Lies);
    node.conditions.push(ready());
    assert!(room.refusal(&node).await.starts_with("ReadsOff"));
    node.conditions.clear();
    // A silent node behind it: nothing contradicts the lie.
    room.off(&node).await.unwrap();
    assert_eq!((bmc.is_on(UUID), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::Off));
    // Another way to the same power does.
    room.method("n1", "second", &format!("{}ssl_insecure=1\n", honest.options(UUID)));
    let steps = format!("power_management=bmc second\nsystem_uuid={UUID}");
    room.cluster.map("fence-config-n1", "config.properties", &steps);
    assert_eq!(room.power.preflight(&node).await.reason, "FenceReady");
    honest.behave(Behavior::Ignores);
    assert!(room.off(&node).await.is_err());
    room.power.retain(|_| false);
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::On, "off is what all report");
}

fn ready() -> Condition {
    Condition {
        kind: "Ready".into(),
        status: ConditionStatus::True,
        change_seen_at: Moment(Duration::ZERO),
        ..Condition::default()
    }
}

async fn shared() {
    let (room, bmc) = (room(), bmc());
    let pin = format!("system-uuid={UUID}\n");
    let one = room.behind("n1", &bmc, UUID, &format!("{pin}plug=1"));
    let two = room.behind("n2", &bmc, UUID, &format!("{pin}plug=2"));
    room.power.survey(room.power.unread([&one, &two].into_iter())).await;
    for node in [&two, &one] {
        assert!(room.power.plan(node).await.unwrap_err().message.contains("on one plug"));
    }
    assert!(matches!(room.off(&one).await, Err(Failed::NotBegun(_))));
    assert_eq!((bmc.orders(), bmc.is_on(UUID)), (0, true));
}
