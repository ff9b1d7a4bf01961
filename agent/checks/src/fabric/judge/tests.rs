use proptest::prelude::*;

use super::*;
use crate::fabric::reading::{Interface, Rate};
use crate::probe::RawReading;

mod errors;
mod hw_counters;
mod poll_errors;
mod presence;

const PORT: &str = "mlx5_0/1";

/// Ports whose readings a test writes, and their judge.
struct Fabric {
    judge: FabricJudge,
    settings: FabricSettings,
    ports: BTreeMap<String, PortReading>,
    boot_id: String,
    secs: u64,
}

impl Fabric {
    /// One port, up.
    fn new(settings: FabricSettings) -> Self {
        let rate = Rate { tenths: 4_000, text: "400 Gb/sec (4X NDR)".to_owned() };
        let link_layer = "InfiniBand".to_owned();
        let guid = "b859:1".to_owned();
        let port = PortReading { guid, link_layer, state: 4, physical: 5, rate, ..PortReading::default() };
        let (ports, judge) = (BTreeMap::from([(PORT.to_owned(), port)]), FabricJudge::new(settings.clone()));
        Self { judge, settings, ports, boot_id: "one".to_owned(), secs: 1_000_000 }
    }

    fn ordinary() -> Self {
        Self::new(FabricSettings::default())
    }

    fn ethernet() -> Self {
        let mut fabric = Self::ordinary();
        let interface = Interface { name: "ens1".to_owned(), is_wanted: true, carrier_downs: Some(7) };
        *fabric.port() = PortReading {
            link_layer: "Ethernet".to_owned(),
            interface: Some(interface),
            address: Some("0000:18:00.0".to_owned()),
            ..fabric.port().clone()
        };
        fabric
    }

    fn port(&mut self) -> &mut PortReading {
        self.ports.get_mut(PORT).unwrap()
    }

    fn set(&mut self, state: u8, physical: u8) -> &mut Self {
        (self.port().state, self.port().physical) = (state, physical);
        self
    }

    fn interface(&mut self) -> &mut Interface {
        self.port().interface.as_mut().unwrap()
    }

    fn now(&self) -> Now {
        let wall = Timestamp::from_second(1_700_000_000 + i64::try_from(self.secs).unwrap()).unwrap();
        Now { wall, boottime: Duration::from_secs(self.secs), boot_id: self.boot_id.clone() }
    }

    /// One more round, `secs` after the one before.
    fn after(&mut self, secs: u64) -> Findings {
        self.secs += secs;
        let listed = Ok(self.ports.keys().cloned().collect());
        let answer = |reading| Ok(RawReading::of(&reading).unwrap());
        let answers = self.ports.iter().map(|(name, reading)| (name.clone(), answer(reading))).collect();
        self.judge.judge(Round { now: self.now(), listed, answers })
    }

    /// Rounds ten seconds apart, for so long; what the last one finds.
    fn during(&mut self, secs: u64) -> Findings {
        (0..secs / 10).map(|_| self.after(10)).last().unwrap()
    }

    /// A restart of the check process: what was saved goes through its file.
    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = FabricJudge::new(self.settings.clone());
        if let Some(saved) = saved {
            self.judge.load(serde_json::from_str(&saved.to_string()).unwrap());
        }
    }

    fn boot(&mut self) {
        self.restart();
        (self.boot_id, self.secs) = (format!("{}+", self.boot_id), 30);
    }
}

fn state<'a>(findings: &'a Findings, subject: &str) -> &'a State {
    let mut verdicts = findings.verdicts.iter().filter(|verdict| verdict.subject == subject);
    let verdict = verdicts.next().unwrap_or_else(|| panic!("{subject} has no verdict: {findings:#?}"));
    assert!(verdicts.next().is_none(), "{subject} has two verdicts");
    assert_eq!(verdict.condition.as_str(), "NetworkUnhealthy");
    &verdict.state
}

/// What is reported of a port: its message if it is healthy, the reasons of its faults, or why its state is unknown.
fn reported(findings: &Findings, subject: &str) -> Vec<String> {
    match state(findings, subject) {
        State::Healthy { message } => vec![format!("healthy: {message}")],
        State::Faulty(faults) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
        State::Unknown { reason, .. } => vec![format!("Unknown: {reason}")],
    }
}

fn is_healthy(findings: &Findings) -> bool {
    matches!(state(findings, PORT), State::Healthy { .. })
}

fn message(findings: &Findings) -> String {
    let State::Faulty(faults) = state(findings, PORT) else { panic!("no fault: {findings:#?}") };
    faults[0].message.clone()
}

#[test]
fn a_port_that_is_up_is_healthy() {
    let mut fabric = Fabric::ordinary();
    let findings = fabric.after(0);
    assert_eq!(reported(&findings, PORT), ["healthy: 400 Gb/sec (4X NDR), card unknown"]);
    assert_eq!((findings.hardware[0].total, findings.hardware[0].healthy()), (1, 1));
}

#[test]
fn a_port_that_was_up_and_is_down_for_four_minutes_is_a_fault() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    assert!(is_healthy(&fabric.set(1, 2).during(240)));
    let findings = fabric.during(10);
    assert_eq!(reported(&findings, PORT), ["FabricPortDown"]);
    assert_eq!(
        message(&findings),
        "down (polling: no partner); check cable, transceiver and the switch's port (card unknown)"
    );
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("down".to_owned(), 1)]));
    assert_eq!(reported(&fabric.set(4, 5).during(60), PORT), ["FabricPortDown"]);
    assert!(is_healthy(&fabric.during(10)));
}

#[test]
fn a_port_that_waits_for_its_subnet_manager_is_reported_so() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    assert_eq!(reported(&fabric.set(2, 5).during(250), PORT), ["FabricPortNotActive"]);
}

#[test]
fn a_port_that_was_never_up_is_not_missed_unless_expected() {
    let mut fabric = Fabric::ordinary();
    let findings = fabric.set(1, 2).during(600);
    assert_eq!(reported(&findings, PORT), ["healthy: the port is not in use"]);
    assert_eq!(findings.hardware, []);

    let expected = vec![PORT.to_owned(), "mlx5_1/1".to_owned()];
    let mut fabric = Fabric::new(FabricSettings { expected, ..FabricSettings::default() });
    let findings = fabric.set(1, 3).during(600);
    assert_eq!(reported(&findings, PORT), ["FabricPortDown"]);
    assert_eq!(reported(&findings, "mlx5_1/1"), ["FabricPortMissing"]);
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("down".to_owned(), 1), ("missing".to_owned(), 1)]));
}

#[test]
fn what_was_up_is_remembered_across_boots() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    fabric.boot();
    assert_eq!(reported(&fabric.set(1, 2).during(260), PORT), ["FabricPortDown"]);
}

#[test]
fn a_restart_neither_ends_nor_hastens_a_fault() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    fabric.set(1, 2).during(200);
    fabric.restart();
    assert!(is_healthy(&fabric.during(40)));
    assert_eq!(reported(&fabric.during(20), PORT), ["FabricPortDown"]);
    fabric.restart();
    assert_eq!(reported(&fabric.during(10), PORT), ["FabricPortDown"]);
}

#[test]
fn what_an_operator_switched_off_is_no_fault() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    assert_eq!(reported(&fabric.set(1, 3).during(600), PORT), ["healthy: switched off (card unknown)"]);

    let mut fabric = Fabric::ethernet();
    fabric.after(0);
    fabric.interface().is_wanted = false;
    assert_eq!(
        reported(&fabric.set(1, 3).during(600), PORT),
        ["healthy: switched off (interface ens1, card 0000:18:00.0)"]
    );
    fabric.interface().is_wanted = true;
    let findings = fabric.during(250);
    assert_eq!(reported(&findings, PORT), ["FabricPortDown"]);
    assert_eq!(
        message(&findings),
        "down (no carrier); check cable, transceiver and the switch's port (interface ens1, card 0000:18:00.0)"
    );
}

#[test]
fn an_interface_in_a_pods_namespace_leaves_its_port_unjudged() {
    let mut fabric = Fabric::ethernet();
    fabric.after(0);
    fabric.port().interface = None;
    assert!(is_healthy(&fabric.set(1, 3).during(600)));
}

#[test]
fn a_port_slower_than_it_has_been_is_a_fault_across_boots() {
    let mut fabric = Fabric::ordinary();
    fabric.after(0);
    fabric.boot();
    fabric.port().rate = Rate { tenths: 2_000, text: "200 Gb/sec (2X NDR)".to_owned() };
    assert!(is_healthy(&fabric.during(240)));
    let findings = fabric.during(10);
    assert_eq!(reported(&findings, PORT), ["FabricPortSlow"]);
    assert_eq!(
        message(&findings),
        "200 Gb/sec (2X NDR), best so far 400 Gb/sec (4X NDR); clean and reseat the cable and transceivers \
         (card unknown)"
    );
    fabric.port().rate = Rate { tenths: 4_000, text: "400 Gb/sec (4X NDR)".to_owned() };
    assert!(is_healthy(&fabric.during(250)));
}

#[test]
fn a_port_that_is_back_ends_what_the_kernel_log_reported_of_its_card() {
    let mut fabric = Fabric::ethernet();
    assert_eq!(fabric.during(600).recoveries, []);
    fabric.set(1, 3).during(30);
    assert_eq!(fabric.set(4, 5).during(60).recoveries, []);
    let recoveries = fabric.after(10).recoveries;
    let changes: Vec<_> =
        recoveries.iter().map(|recovery| (recovery.condition.as_str(), recovery.subject.as_str())).collect();
    assert_eq!(changes, [("NetworkUnhealthy", "0000:18:00.0")]);
    assert_eq!(recoveries[0].seen_before + jiff::SignedDuration::from_secs(60), fabric.now().wall);
    assert_eq!(fabric.during(600).recoveries, []);

    let port = fabric.ports.remove(PORT).unwrap();
    fabric.after(10);
    fabric.ports.insert(PORT.to_owned(), port);
    fabric.during(60);
    assert_eq!(fabric.after(10).recoveries.len(), 1);
}

prop_compose! {
    fn any_reading()(
        guid in "[ab]", ethernet in any::<bool>(), state in 0_u8..8, physical in 0_u8..8, tenths in any::<u32>(),
        counters in prop::collection::btree_map(
            prop::sample::select(vec!["symbol_error".to_owned(), "link_downed".to_owned(), "port_rcv_errors".to_owned()]),
            prop_oneof![any::<u64>(), Just(255), Just(65_535), 0_u64..200], 0..3),
        interface in prop::option::of((any::<bool>(), prop::option::of(any::<u64>()))),
    ) -> PortReading {
        let interface = interface
            .map(|(is_wanted, carrier_downs)| Interface { name: "eth0".to_owned(), is_wanted, carrier_downs });
        let link_layer = if ethernet { "Ethernet" } else { "InfiniBand" }.to_owned();
        let rate = Rate { tenths, text: String::new() };
        PortReading { guid, link_layer, state, physical, rate, counters, interface, ..PortReading::default() }
    }
}

proptest! {
    /// Any readings at any times, also across restarts: every port that is there has one verdict, no fault stands twice on
    /// it, the numbers add up.
    #[test]
    fn any_reading_gives_one_sound_account(
        rounds in prop::collection::vec((any::<u32>(), prop::option::of(any_reading()), any::<bool>()), 1..30),
    ) {
        let mut fabric = Fabric::ordinary();
        for (secs, reading, restarts) in rounds {
            match reading {
                Some(reading) => fabric.ports.insert(PORT.to_owned(), reading),
                None => fabric.ports.remove(PORT),
            };
            if restarts {
                fabric.restart();
            }
            fabric.secs = u64::from(secs);
            let findings = fabric.after(0);
            for port in fabric.ports.keys() {
                let mut reported = reported(&findings, port);
                let all = reported.len();
                reported.sort();
                reported.dedup();
                prop_assert_eq!(reported.len(), all);
            }
            for hardware in &findings.hardware {
                prop_assert!(hardware.states.values().sum::<u32>() <= hardware.total);
            }
        }
    }
}
