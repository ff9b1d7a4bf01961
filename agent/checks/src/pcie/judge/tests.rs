use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::probe::RawReading;
use crate::{
    pcie::reading::{Aer, Errors, Lanes, Link},
    probe::Answer,
};

mod links;
mod poll_errors;
mod presence;

const CARD: &str = "0000:01:00.0";
const PORT: &str = "0000:00:01.0";
/// Long after the start of the machine: what was counted before is old.
const LATER: u64 = 30 * 86_400;

/// A bus whose readings a test writes, and its judge.
struct Bus {
    judge: PcieJudge,
    devices: BTreeMap<String, PcieReading>,
    boot_id: String,
    secs: u64,
}

impl Bus {
    /// One card below one root port, both without a fault.
    fn new() -> Self {
        let port = PcieReading { id: "8086:352a".to_owned(), class: 0x06_0400, ..PcieReading::default() };
        let above = vec![PORT.to_owned()];
        let card = PcieReading { id: "15b3:1021".to_owned(), class: 0x02_0700, above, ..PcieReading::default() };
        let devices = BTreeMap::from([(PORT.to_owned(), port), (CARD.to_owned(), card)]);
        let judge = PcieJudge::new(PcieSettings::default());
        Self { judge, devices, boot_id: "one".to_owned(), secs: LATER }
    }

    fn card(&mut self) -> &mut PcieReading {
        self.devices.get_mut(CARD).unwrap()
    }

    fn now(&self) -> Now {
        let wall = Timestamp::from_second(1_700_000_000 + i64::try_from(self.secs).unwrap()).unwrap();
        Now { wall, boottime: Duration::from_secs(self.secs), boot_id: self.boot_id.clone() }
    }

    fn answers(&self) -> Vec<(String, Answer)> {
        self.devices.iter().map(|(name, reading)| (name.clone(), Ok(RawReading::of(&reading).unwrap()))).collect()
    }

    /// One more round, `secs` after the one before.
    fn after(&mut self, secs: u64) -> Findings {
        self.secs += secs;
        let listed = Ok(self.devices.keys().cloned().collect());
        self.judge.judge(Round { now: self.now(), listed, answers: self.answers() })
    }

    /// A restart of the check process: what was saved goes through its file.
    fn restart(&mut self) {
        let saved = self.judge.save();
        self.judge = PcieJudge::new(PcieSettings::default());
        if let Some(saved) = saved {
            self.judge.load(serde_json::from_str(&saved.to_string()).unwrap());
        }
    }
}

fn errors(kind: &str, total: u64) -> Errors {
    Errors { total, kinds: BTreeMap::from([(kind.to_owned(), total)]) }
}

fn fatal(total: u64) -> Option<Aer> {
    Some(Aer { fatal: errors("SDES", total), ..Aer::default() })
}

fn nonfatal(total: u64) -> Option<Aer> {
    Some(Aer { nonfatal: errors("CmpltTO", total), ..Aer::default() })
}

fn correctable(total: u64) -> Option<Aer> {
    Some(Aer { correctable: errors("BadTLP", total), ..Aer::default() })
}

fn state<'a>(findings: &'a Findings, subject: &str) -> &'a State {
    let mut verdicts = findings.verdicts.iter().filter(|verdict| verdict.subject == subject);
    let verdict = verdicts.next().unwrap_or_else(|| panic!("{subject} has no verdict: {findings:#?}"));
    assert!(verdicts.next().is_none(), "{subject} has two verdicts");
    assert_eq!(verdict.condition.as_str(), "PcieUnhealthy");
    &verdict.state
}

/// The reasons of a subject's faults; none if it is healthy.
fn reasons(findings: &Findings, subject: &str) -> Vec<String> {
    match state(findings, subject) {
        State::Healthy { .. } => Vec::new(),
        State::Faulty(faults) => faults.iter().map(|fault| fault.reason.to_string()).collect(),
        State::Unknown { reason, .. } => vec![format!("Unknown: {reason}")],
    }
}

fn message(findings: &Findings, subject: &str) -> String {
    match state(findings, subject) {
        State::Healthy { message } | State::Unknown { message, .. } => message.clone(),
        State::Faulty(faults) => faults[0].message.clone(),
    }
}

#[test]
fn a_bus_without_faults_is_healthy() {
    let mut bus = Bus::new();
    let findings = bus.after(0);
    assert!(reasons(&findings, CARD).is_empty() && reasons(&findings, PORT).is_empty());
    assert_eq!(message(&findings, CARD), "device 15b3:1021");
    assert_eq!((findings.hardware[0].total, findings.hardware[0].healthy()), (2, 2));
}

#[test]
fn a_fatal_error_is_a_fault_for_a_day() {
    let mut bus = Bus::new();
    bus.card().aer = fatal(0);
    assert!(reasons(&bus.after(0), CARD).is_empty());
    bus.card().aer = fatal(1);
    let findings = bus.after(60);
    assert_eq!(reasons(&findings, CARD), ["PcieAerFatal"]);
    assert_eq!(
        message(&findings, CARD),
        "fatal errors within a day: 1, lately mostly SDES; reseat the card or riser, update its firmware"
    );
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("failing".to_owned(), 1)]));
    assert_eq!(reasons(&bus.after(86_400), CARD), ["PcieAerFatal"]);
    assert!(reasons(&bus.after(60), CARD).is_empty());
}

#[test]
fn an_old_fatal_error_is_no_fault_and_one_since_boot_is() {
    let mut bus = Bus::new();
    bus.card().aer = fatal(3);
    assert!(reasons(&bus.after(0), CARD).is_empty());

    let mut young = Bus { secs: 600, ..Bus::new() };
    young.card().aer = fatal(3);
    assert_eq!(reasons(&young.after(0), CARD), ["PcieAerFatal"]);
}

#[test]
fn what_happened_between_two_runs_is_found_after_a_restart() {
    let mut bus = Bus::new();
    bus.card().aer = fatal(0);
    bus.after(0);
    bus.restart();
    bus.card().aer = fatal(1);
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieAerFatal"]);
    bus.restart();
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieAerFatal"]);
}

#[test]
fn a_new_boot_ends_what_counters_reported() {
    let mut bus = Bus::new();
    bus.card().aer = fatal(0);
    bus.after(0);
    bus.card().aer = fatal(1);
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieAerFatal"]);
    bus.restart();
    (bus.boot_id, bus.secs) = ("two".to_owned(), 30);
    bus.card().aer = fatal(0);
    assert!(reasons(&bus.after(0), CARD).is_empty());
}

#[test]
fn one_burst_of_lost_transfers_is_a_drivers_probe_and_three_are_a_fault() {
    let mut bus = Bus::new();
    let mut reported = Vec::new();
    for total in [0, 40, 40, 41, 42, 42] {
        bus.card().aer = nonfatal(total);
        reported.push(!reasons(&bus.after(60), CARD).is_empty());
    }
    assert_eq!(reported, [false, false, false, false, true, true]);
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieNonFatalErrorsGrowing"]);
    assert!(reasons(&bus.after(3_700), CARD).is_empty());
}

#[test]
fn corrected_errors_are_a_fault_by_their_rate_alone() {
    let mut bus = Bus::new();
    bus.card().aer = correctable(5_000_000);
    assert!(reasons(&bus.after(0), CARD).is_empty());
    let mut total = 5_000_000;
    for _ in 0..60 {
        total += 16;
        bus.card().aer = correctable(total);
        assert!(reasons(&bus.after(60), CARD).is_empty());
    }
    bus.card().aer = correctable(total + 100);
    let findings = bus.after(60);
    assert_eq!(reasons(&findings, CARD), ["PcieCorrectedErrorsGrowing"]);
    assert_eq!(
        message(&findings, CARD),
        "1000 or more corrected errors within an hour (limit 1000), lately mostly BadTLP; reseat the card, \
         riser or cable"
    );
}

#[test]
fn a_rate_at_the_border_does_not_come_and_go() {
    let mut bus = Bus::new();
    let (mut total, mut changes, mut before) = (0, 0, false);
    for round in 0..600 {
        // 990 and 1,020 an hour, in turns of half an hour.
        total += if round / 30 % 2 == 0 { 17 } else { 16 };
        bus.card().aer = correctable(total);
        let is_faulty = !reasons(&bus.after(60), CARD).is_empty();
        changes += u32::from(is_faulty != before);
        before = is_faulty;
    }
    assert!(changes <= 1, "{changes} changes");
}

#[test]
fn a_counter_that_goes_back_is_no_fault() {
    let mut bus = Bus::new();
    for total in [7, 0, 0] {
        bus.card().aer = fatal(total);
        assert!(reasons(&bus.after(60), CARD).is_empty());
    }
    bus.card().aer = fatal(1);
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieAerFatal"]);
}

#[test]
fn a_fatal_message_that_no_device_owns_is_the_root_ports() {
    let mut bus = Bus::new();
    bus.card().aer = fatal(0);
    bus.devices.get_mut(PORT).unwrap().root_fatal = Some(0);
    bus.after(0);
    bus.devices.get_mut(PORT).unwrap().root_fatal = Some(1);
    assert!(reasons(&bus.after(60), PORT).is_empty());
    assert_eq!(reasons(&bus.after(60), PORT), ["PcieAerFatal"]);
    // The device is found after all: it is one fault.
    bus.card().aer = fatal(1);
    bus.after(60);
    let findings = bus.after(60);
    assert_eq!((reasons(&findings, PORT), reasons(&findings, CARD)), (vec![], vec!["PcieAerFatal".to_owned()]));
}

fn any_errors() -> impl Strategy<Value = Errors> {
    (any::<u64>(), prop::collection::btree_map("[A-Z]{1,3}", any::<u64>(), 0..3))
        .prop_map(|(total, kinds)| Errors { total, kinds })
}

prop_compose! {
    fn any_reading()(
        ids in prop::sample::select(vec!["15b3:1021", "10de:2330", "1002:73bf"]),
        class in any::<u32>(),
        flags in any::<[bool; 3]>(),
        above in prop::collection::vec(prop::sample::select(vec![PORT.to_owned(), CARD.to_owned()]), 0..3),
        aer in prop::option::of((any_errors(), any_errors(), any_errors())),
        lanes in prop::option::of(any::<[u32; 6]>()),
        root_fatal in prop::option::of(any::<u64>()),
    ) -> PcieReading {
        let at = |lanes: &[u32]| Lanes { width: lanes[0], speed: lanes[1] };
        PcieReading {
            id: ids.to_owned(), class, asleep: flags[0], mute: flags[1], removable: flags[2], above, root_fatal,
            aer: aer.map(|(correctable, nonfatal, fatal)| Aer { correctable, nonfatal, fatal }),
            link: lanes.map(|lanes| Link { now: at(&lanes[..2]), device: at(&lanes[2..4]), port: at(&lanes[4..]) }),
            ..PcieReading::default()
        }
    }
}

proptest! {
    /// Any readings at any times, also across restarts: every device that is there has one verdict, no fault stands
    /// twice on it, the numbers add up.
    #[test]
    fn any_reading_gives_one_sound_account(
        rounds in prop::collection::vec((any::<u32>(), prop::option::of(any_reading()), any::<bool>()), 1..30),
    ) {
        let mut bus = Bus::new();
        for (secs, reading, restarts) in rounds {
            match reading {
                Some(reading) => bus.devices.insert(CARD.to_owned(), reading),
                None => bus.devices.remove(CARD),
            };
            if restarts {
                bus.restart();
            }
            bus.secs = u64::from(secs);
            let findings = bus.after(0);
            for device in bus.devices.keys() {
                let mut reasons = reasons(&findings, device);
                let all = reasons.len();
                reasons.sort();
                reasons.dedup();
                prop_assert_eq!(reasons.len(), all);
            }
            for hardware in &findings.hardware {
                prop_assert!(hardware.states.values().sum::<u32>() <= hardware.total);
            }
        }
    }
}
