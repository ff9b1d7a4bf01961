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

use nodewell_model::Severity;

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
        "the link runs at x8 (both ends can do x16), was wider before; reseat the card and riser, clean the contacts"
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
    bus.after(0);
    let findings = bus.after(180);
    assert_eq!((reasons(&findings, CARD), severity(&findings)), (vec!["PcieLinkSlow".to_owned()], Severity::Error));
    assert_eq!(
        message(&findings, CARD),
        "the link runs at 8.0 GT/s (both ends can do 32.0 GT/s), was faster before; reseat the card and riser"
    );
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
