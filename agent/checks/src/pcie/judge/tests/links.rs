use super::*;

fn lanes(width: u32, speed: u32) -> Lanes {
    Lanes { width, speed }
}

/// A card for x16 at 64 GT/s in a slot for x16 at 32 GT/s.
fn link(now: Lanes) -> Option<Link> {
    Some(Link { now, device: lanes(16, 64_000), port: lanes(16, 32_000) })
}

fn severity(findings: &Findings) -> Severity {
    let State::Faulty(faults) = state(findings, CARD) else { panic!("healthy") };
    faults[0].severity
}

use nodewell_model::{Severity, inventory::Acceptance};

#[test]
fn a_link_at_the_most_that_both_ends_can_do_is_healthy() {
    let mut bus = Bus::new();
    bus.card().link = link(lanes(16, 32_000));
    bus.after(0);
    let findings = bus.after(3_600);
    assert!(reasons(&findings, CARD).is_empty());
    assert_eq!(message(&findings, CARD), "device 15b3:1021, link x16");
}

#[test]
fn a_link_that_got_narrower_is_an_error_and_healthy_again_after_five_minutes() {
    let mut bus = Bus::new();
    bus.card().link = link(lanes(16, 32_000));
    bus.after(0);
    bus.card().link = link(lanes(8, 32_000));
    assert!(reasons(&bus.after(60), CARD).is_empty());
    let findings = bus.after(180);
    assert_eq!((reasons(&findings, CARD), severity(&findings)), (vec!["PcieLinkNarrow".to_owned()], Severity::Error));
    assert_eq!(
        message(&findings, CARD),
        "the link runs at x8 (both ends can do x16), was wider before; reseat the card and riser, clean the contacts \
         (15b3:1021)"
    );
    bus.card().link = link(lanes(16, 32_000));
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieLinkNarrow"]);
    assert!(reasons(&bus.after(300), CARD).is_empty());
}

#[test]
fn a_link_that_never_was_better_is_a_warning() {
    let mut bus = Bus::new();
    bus.card().link = link(lanes(8, 16_000));
    bus.after(0);
    let findings = bus.after(180);
    assert_eq!(reasons(&findings, CARD), ["PcieLinkNarrow", "PcieLinkSlow"]);
    assert_eq!(severity(&findings), Severity::Warn);
}

#[test]
fn what_a_link_was_is_remembered_across_boots() {
    let mut bus = Bus::new();
    bus.card().link = link(lanes(16, 32_000));
    bus.after(0);
    bus.restart();
    (bus.boot_id, bus.secs) = ("two".to_owned(), 30);
    bus.card().link = link(lanes(16, 8_000));
    bus.card().model = Some("MT_0000000838".to_owned());
    bus.card().driver = Some("mlx5_core".to_owned());
    bus.after(0);
    let findings = bus.after(180);
    assert_eq!((reasons(&findings, CARD), severity(&findings)), (vec!["PcieLinkSlow".to_owned()], Severity::Error));
    assert_eq!(
        message(&findings, CARD),
        "the link runs at 8.0 GT/s (both ends can do 32.0 GT/s), was faster before; reseat the card and riser (MT_0000000838, \
         15b3:1021 (mlx5_core))"
    );
}

fn acceptance(name: &str) -> Acceptance {
    let (names, by) = (vec![name.to_owned()], "alice (root)".to_owned());
    Acceptance { boot_id: "one".to_owned(), time: Timestamp::UNIX_EPOCH, names, by }
}

/// A link that a new slot has made narrower, for long enough.
fn narrowed() -> Bus {
    let mut bus = Bus::new();
    bus.card().link = link(lanes(16, 32_000));
    bus.after(0);
    bus.card().link = link(lanes(8, 32_000));
    bus.after(60);
    assert_eq!(reasons(&bus.after(180), CARD), ["PcieLinkNarrow"]);
    bus
}

#[test]
fn a_link_that_a_person_accepts_is_as_it_should_be_over_boots() {
    let mut bus = narrowed();
    assert!(bus.judge.accept(&acceptance("link 0000:01:00.0")));
    let findings = bus.after(60);
    assert!(reasons(&findings, CARD).is_empty());
    let events: Vec<_> =
        findings.events.iter().map(|event| (event.subject.as_deref(), event.message.as_str())).collect();
    assert_eq!(events, [(Some("link 0000:01:00.0"), "accepted as it runs by alice (root)")]);
    bus.restart();
    (bus.boot_id, bus.secs) = ("two".to_owned(), 30);
    bus.after(0);
    assert!(reasons(&bus.after(600), CARD).is_empty());
    // Narrower still is a fault, and an error: it has been better.
    bus.card().link = link(lanes(4, 32_000));
    bus.after(60);
    let findings = bus.after(180);
    assert_eq!((reasons(&findings, CARD), severity(&findings)), (vec!["PcieLinkNarrow".to_owned()], Severity::Error));
}

#[test]
fn what_was_accepted_is_forgotten_once_the_link_is_better() {
    let mut bus = narrowed();
    bus.judge.accept(&acceptance("link 0000:01:00.0"));
    bus.after(60);
    bus.card().link = link(lanes(16, 32_000));
    bus.after(60);
    bus.card().link = link(lanes(8, 32_000));
    bus.after(60);
    assert_eq!(reasons(&bus.after(180), CARD), ["PcieLinkNarrow"]);
}

#[test]
fn only_a_link_that_is_named_and_has_a_fault_is_accepted() {
    let mut bus = narrowed();
    for name in ["disk S1", "link 0000:02:00.0", "0000:01:00.0", "link"] {
        assert!(!bus.judge.accept(&acceptance(name)), "{name}");
    }
    assert_eq!(reasons(&bus.after(60), CARD), ["PcieLinkNarrow"]);
    // One without a fault may get narrower all the same.
    let mut sound = Bus::new();
    sound.card().link = link(lanes(16, 32_000));
    sound.after(0);
    assert!(sound.judge.accept(&acceptance("link 0000:01:00.0")));
    assert_eq!(sound.after(60).events, []);
    sound.card().link = link(lanes(8, 32_000));
    sound.after(60);
    assert_eq!(reasons(&sound.after(180), CARD), ["PcieLinkNarrow"]);
}

#[test]
fn a_link_that_was_not_read_since_a_restart_is_accepted_with_its_first_reading() {
    let mut bus = narrowed();
    bus.restart();
    assert!(bus.judge.accept(&acceptance("link 0000:01:00.0")));
    let listed = Ok(vec![PORT.to_owned(), CARD.to_owned()]);
    let findings = bus.judge.judge(Round { now: bus.now(), listed, answers: Vec::new() });
    assert_eq!(findings.events, []);
    assert_eq!(bus.after(60).events.len(), 1);
    assert!(reasons(&bus.after(60), CARD).is_empty());
}

#[test]
fn another_card_in_the_same_place_starts_again() {
    let mut bus = Bus::new();
    bus.card().link = link(lanes(16, 32_000));
    bus.after(0);
    bus.card().id = "15b3:1017".to_owned();
    bus.card().link = Some(Link { now: lanes(8, 16_000), device: lanes(8, 16_000), port: lanes(16, 32_000) });
    bus.after(60);
    assert!(reasons(&bus.after(600), CARD).is_empty());
}

#[test]
fn an_idle_gpu_and_the_switch_on_its_card_are_slow_without_a_fault() {
    let mut bus = Bus::new();
    bus.card().class = 0x06_0400;
    bus.card().link = link(lanes(16, 2_500));
    let gpu = "0000:02:00.0";
    let above = vec![CARD.to_owned(), PORT.to_owned()];
    let reading = PcieReading { id: "10de:2330".to_owned(), class: 0x03_0200, above, ..PcieReading::default() };
    bus.devices.insert(gpu.to_owned(), PcieReading { link: link(lanes(16, 2_500)), ..reading });
    bus.after(0);
    for _ in 0..10 {
        let findings = bus.after(60);
        assert!(reasons(&findings, gpu).is_empty() && reasons(&findings, CARD).is_empty());
    }
    bus.devices.get_mut(gpu).unwrap().link = link(lanes(8, 2_500));
    bus.after(60);
    assert_eq!(reasons(&bus.after(180), gpu), ["PcieLinkNarrow"]);
}

#[test]
fn a_link_that_reports_nothing_is_not_judged() {
    let mut bus = Bus::new();
    for link in
        [link(lanes(0, 0)), None, Some(Link { now: lanes(4, 8_000), device: lanes(0, 0), port: lanes(16, 32_000) })]
    {
        bus.card().link = link;
        bus.after(0);
        assert!(reasons(&bus.after(600), CARD).is_empty());
    }
}
