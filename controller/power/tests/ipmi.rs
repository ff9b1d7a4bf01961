//! Real power: `fence_ipmilan` and `ipmitool` over LAN+ against a simulated BMC that ends a real process.

use std::{sync::Arc, time::Duration};

use nodewell_bmc::{Bmc, Manner, PASSWORD};
use nodewell_kit::free_port;
use nodewell_power::native::{NativePower, Settings};
use nodewell_reconcile::power::Power;
use nodewell_remediation::{
    action::Failed,
    facts::ConditionStatus,
    facts::Node,
    method::FenceAgent,
    snapshot::{FenceScope, Level, PowerState},
};

use crate::{
    bench::Bench,
    fake::{Fake, node},
    real::{Cases, run},
};

/// As the BMC sends it, and as the kernel of the node reads it from its firmware.
const GUID: &str = "a123456789abcdefa123456789abcdef";
const SYSTEM_UUID: &str = "674523a1-ab89-efcd-a123-456789abcdef";

pub(crate) const CASES: Cases = &[
    ("off_ends_the_machine_and_on_starts_it", || run(off_and_on())),
    ("a_wrong_password_begins_nothing_and_is_not_shown", || run(wrong_password())),
    ("a_closed_port_is_unknown", || run(closed_port())),
    ("a_machine_that_ignores_off_stays_on", || run(ignores_off())),
    ("another_machines_bmc_is_never_acted_upon", || run(mismatch())),
    ("an_address_that_falls_silent_and_is_another_machines_then", || run(swapped())),
    ("a_bmc_with_a_guid_of_its_own_can_be_pinned", || run(pinned())),
    ("a_guid_in_reversed_order_is_the_same_machine", || run(reversed())),
    ("two_nodes_behind_one_bmc_are_refused", || run(shared())),
    ("a_level_whose_bmc_is_dead_leaves_the_next_one_as_it_is", || run(levels())),
    ("installed_agents_list_their_options", || run(installed())),
    ("the_documentations_examples_fit_the_installed_agents", || run(crate::examples::fit_the_installed_agents())),
    ("the_documentations_examples_hold_to_their_node", || run(crate::examples::hold_to_their_node())),
    ("the_documentations_levels_lack_only_their_bmc", || run(crate::examples::levels_are_configured_rightly())),
    ("the_documentations_redfish_lacks_only_its_bmc", || run(crate::examples::redfish_is_configured_rightly())),
];

struct Room {
    bench: Bench,
    cluster: Arc<Fake>,
    power: NativePower<Fake>,
}

fn room() -> Room {
    let (bench, cluster) = (Bench::new(), Arc::new(Fake::default()));
    let power = NativePower::new(Arc::clone(&cluster), bench.runner(), Settings::default());
    power.unread([node("n1", "")].iter());
    Room { bench, cluster, power }
}

impl Room {
    /// A node of this name whose BMC has these options.
    fn behind(&self, name: &str, options: &str) -> Node {
        let map = format!("fence-config-{name}");
        let given = |key: &str| options.lines().find_map(|line| line.strip_prefix(key));
        let is_configured = given("identity=configured").is_some();
        let outlets =
            if is_configured { format!("outlets=127.0.0.1/{}", given("ipport=").unwrap()) } else { String::new() };
        let pins = format!("power_management=bmc\nsystem_uuid={SYSTEM_UUID}\n{outlets}");
        self.cluster.map(&map, "config.properties", &pins);
        self.cluster.map(&map, "fence-method-bmc", &format!("agent_name=fence_ipmilan\n{options}"));
        self.cluster.secret_of(&format!("secret-fence-method-bmc-{name}"), "password", PASSWORD);
        node(name, SYSTEM_UUID)
    }
}

fn machine(manner: Manner) -> Bmc {
    Bmc::start(GUID, manner).unwrap()
}

async fn off_and_on() {
    let (room, bmc) = (room(), machine(Manner::Obeys));
    let node = room.behind("n1", &bmc.options());
    assert_eq!(room.power.plan(&node).await.unwrap().levels[0].identity, Some(Ok(())));
    assert_eq!((bmc.is_on(), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::On));
    assert_eq!(room.power.preflight(&node).await.reason, "FenceReady");
    assert_eq!(room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(180)).await.unwrap(), ["bmc"]);
    assert_eq!((bmc.is_on(), room.power.read(&node, &FenceScope::default()).await), (false, PowerState::Off));
    room.power.on(&node, &FenceScope::default(), &room.bench.lease_deadline(180)).await.unwrap();
    assert_eq!((bmc.is_on(), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::On));
    bmc.order("0");
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Off, "another client turned it off");
    let orders = bmc.orders();
    let mut sets = orders.iter().filter(|order| order.starts_with("set")).collect::<Vec<_>>();
    // On a busy host ipmitool asks once more.
    sets.dedup();
    assert_eq!(sets, ["set power 0", "set power 1"], "never a reset or a cycle");
}

async fn wrong_password() {
    let (room, bmc) = (room(), machine(Manner::Obeys));
    let node = room.behind("n1", &bmc.options());
    room.cluster.secret_of("secret-fence-method-bmc-n1", "password", "not-the-word");
    let preflight = room.power.preflight(&node).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "IdentityUnproven"));
    assert!(!preflight.message.contains("not-the-word"), "{}", preflight.message);
    assert!(preflight.message.starts_with("logins: bmc refused current "), "it is no BMC that is away: {preflight:?}");
    // Without the identity's question it is the agent that fails.
    let node = room.behind("n1", &format!("{}identity=configured", bmc.options()));
    room.cluster.secret_of("secret-fence-method-bmc-n1", "password", "not-the-word");
    let failed = room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(180)).await.unwrap_err();
    assert!(matches!(&failed, Failed::Refused(why) if !why.contains("not-the-word")), "{failed:?}");
    assert!(bmc.is_on());
}

async fn closed_port() {
    let room = room();
    let options = format!("ip=127.0.0.1\nipport={}\nlanplus=1\nusername=lab\nidentity=configured", free_port());
    let node = room.behind("n1", &options);
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
}

async fn ignores_off() {
    let (room, bmc) = (room(), machine(Manner::Ignores));
    let node = room.behind("n1", &bmc.options());
    let failed = room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(180)).await.unwrap_err();
    assert!(matches!(failed, Failed::Refused(_) | Failed::Timeout(_)), "{failed:?}");
    assert_eq!((bmc.is_on(), room.power.read(&node, &FenceScope::default()).await), (true, PowerState::On));
}

async fn mismatch() {
    let (room, bmc) = (room(), Bmc::start("b123456789abcdefa123456789abcdef", Manner::Obeys).unwrap());
    let node = room.behind("n1", &bmc.options());
    let unproven = room.power.plan(&node).await.unwrap().levels[0].identity.clone().unwrap().unwrap_err();
    assert!(!unproven.contains("IdentityUnproven") && unproven.contains(SYSTEM_UUID), "{unproven}");
    assert!(matches!(
        room.power.off(&node, &FenceScope::default(), &room.bench.lease_deadline(180)).await,
        Err(Failed::NotBegun(_))
    ));
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown, "nothing of it is believed");
    assert!(bmc.is_on() && !bmc.orders().iter().any(|order| order.starts_with("set")));
}

/// BMCs come back from a loss of power with addresses that were dealt out again, all within the time that a proof lasts.
async fn swapped() {
    let (room, bmc) = (room(), machine(Manner::Obeys));
    let node = room.behind("n1", &bmc.options());
    let (own, deadline) = (FenceScope::default(), room.bench.lease_deadline(180));
    assert_eq!(room.power.read(&node, &own).await, PowerState::On);
    let port = bmc.port;
    drop(bmc);
    assert_eq!(room.power.read(&node, &own).await, PowerState::Unknown);
    let other = Bmc::start_on("127.0.0.1", port, "b123456789abcdefa123456789abcdef", Manner::Obeys).unwrap();
    assert_eq!(room.power.read(&node, &own).await, PowerState::Unknown, "another machine's power is not its own");
    assert!(matches!(room.power.off(&node, &own, &deadline).await, Err(Failed::NotBegun(_))));
    assert!(other.is_on(), "the wrong machine was turned off");
    drop(other);
    let _own = Bmc::start_on("127.0.0.1", port, GUID, Manner::Obeys).unwrap();
    let settled = || async { room.power.read(&node, &own).await == PowerState::On };
    let mut tries = 0;
    while !settled().await {
        tries += 1;
        assert!(tries < 60, "its own BMC is not believed any more");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Nothing answers at the first level; the second one is a BMC of the chassis, say.
async fn levels() {
    let (room, bmc) = (room(), machine(Manner::Obeys));
    let dead = format!("agent_name=fence_ipmilan\nip=127.0.0.1\nipport={}\nlanplus=1\nusername=lab", free_port());
    let node = room.behind("n1", &bmc.options());
    let map = "fence-config-n1";
    let pins = format!("power_management=dead\npower_management.2=bmc\nsystem_uuid={SYSTEM_UUID}");
    room.cluster.map(map, "config.properties", &pins);
    room.cluster.map(map, "fence-method-dead", &dead);
    room.cluster.secret_of("secret-fence-method-dead-n1", "password", PASSWORD);
    room.cluster.secret_of("secret-fence-method-bmc-n1", "password", PASSWORD);
    let plan = room.power.plan(&node).await.unwrap();
    assert!(plan.levels[0].identity.as_ref().unwrap().is_err(), "{plan:?}");
    assert_eq!(plan.levels[1].identity, Some(Ok(())));
    let second = FenceScope::machine(Level(2));
    assert_eq!(room.power.read(&node, &FenceScope::default()).await, PowerState::Unknown);
    assert_eq!((bmc.is_on(), room.power.read(&node, &second).await), (true, PowerState::On));
    assert_eq!(room.power.off(&node, &second, &room.bench.lease_deadline(180)).await.unwrap(), ["bmc"]);
    assert_eq!((bmc.is_on(), room.power.read(&node, &second).await), (false, PowerState::Off));
    room.power.on(&node, &second, &room.bench.lease_deadline(180)).await.unwrap();
    assert!(bmc.is_on());
    let preflight = room.power.preflight(&node).await;
    assert_eq!((preflight.status, preflight.reason.as_str()), (ConditionStatus::False, "IdentityUnproven"));
    assert!(preflight.message.starts_with("level 1: "), "{}", preflight.message);
}

async fn pinned() {
    let (room, bmc) = (room(), Bmc::start("b123456789abcdefa123456789abcdef", Manner::Obeys).unwrap());
    let pin = |guid: &str| format!("{}system-uuid={guid}", bmc.options());
    let node = room.behind("n1", &pin("b1234567-89ab-cdef-a123-456789abcdef"));
    assert_eq!(room.power.plan(&node).await.unwrap().levels[0].identity, Some(Ok(())));
    let room = self::room();
    let node = room.behind("n1", &pin("b1234567-89ab-cdef-a123-456789abcde0"));
    assert!(room.power.plan(&node).await.unwrap().levels[0].identity.clone().unwrap().is_err());
}

async fn reversed() {
    let (room, bmc) = (room(), machine(Manner::Obeys));
    let mut node = room.behind("n1", &bmc.options());
    let other = "efcdab89-6745-23a1-efcd-ab89674523a1";
    node.system_uuid = other.into();
    room.cluster.map("fence-config-n1", "config.properties", &format!("power_management=bmc\nsystem_uuid={other}"));
    assert_eq!(room.power.plan(&node).await.unwrap().levels[0].identity, Some(Ok(())));
}

async fn shared() {
    let (room, bmc) = (room(), machine(Manner::Obeys));
    let one = room.behind("n1", &bmc.options());
    let two = room.behind("n2", &format!("{}plug=2", bmc.options()));
    room.power.plan(&one).await.unwrap();
    for node in [&two, &one] {
        assert!(room.power.plan(node).await.unwrap_err().message.contains("on one plug"));
    }
    assert!(matches!(
        room.power.off(&one, &FenceScope::default(), &room.bench.lease_deadline(180)).await,
        Err(Failed::NotBegun(_))
    ));
    assert!(bmc.is_on());
}

async fn installed() {
    let bench = Bench::new();
    let agents = nodewell_power::agent::Agents::new("/usr/sbin".into(), bench.runner());
    for name in
        ["fence_ipmilan", "fence_ilo4", "fence_redfish", "fence_aws", "fence_apc_snmp", "fence_scsi", "fence_kdump"]
    {
        let agent: FenceAgent =
            tokio::time::timeout(Duration::from_secs(30), agents.metadata(name)).await.unwrap().unwrap();
        assert!(agent.actions.contains("off") && agent.parameters.contains_key("action"), "{name}: {agent:?}");
    }
}
