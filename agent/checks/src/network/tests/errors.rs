use super::*;

/// Packets of an interface, and how many of them were damaged.
struct Traffic {
    packets: u64,
    errors: u64,
}

/// Five minutes with so many packets and damaged ones more.
fn minutes(machine: &mut Machine, more: Traffic, total: &mut Traffic) -> Findings {
    for _ in 0..20 {
        total.packets += more.packets / 20;
        total.errors += more.errors / 20;
        machine.count("eth0", "rx_packets", total.packets).count("eth0", "rx_errors", total.errors).count(
            "eth0",
            "rx_crc_errors",
            total.errors,
        );
        machine.after(15);
    }
    machine.after(0)
}

#[test]
fn many_damaged_packets_are_a_fault_until_there_are_half_as_many() {
    let (mut machine, mut total) = (Machine::new(), Traffic { packets: 1_000, errors: 7 });
    machine.after(0);
    let findings = minutes(&mut machine, Traffic { packets: 10_000, errors: 100 }, &mut total);
    let words = "InterfaceErrors: 100 damaged packets or more within 5 min (limit 50, 1000 of a million), \
                 mostly rx_crc_errors; \
     \
                 check the cable, the transceiver and the other end";
    assert_eq!(reported(&findings, "eth0"), [words]);
    assert!(!is_silent(&minutes(&mut machine, Traffic { packets: 10_000, errors: 40 }, &mut total)));
    assert!(is_silent(&minutes(&mut machine, Traffic { packets: 10_000, errors: 20 }, &mut total)));
    assert!(is_silent(&minutes(&mut machine, Traffic { packets: 10_000, errors: 0 }, &mut total)));
}

#[test]
fn few_of_many_packets_are_no_fault() {
    let (mut machine, mut total) = (Machine::new(), Traffic { packets: 1_000, errors: 7 });
    machine.after(0);
    assert!(is_silent(&minutes(&mut machine, Traffic { packets: 1_000_000, errors: 900 }, &mut total)));
    assert!(!is_silent(&minutes(&mut machine, Traffic { packets: 1_000_000, errors: 1_200 }, &mut total)));
}

#[test]
fn few_at_all_are_no_fault_however_few_packets_there_are() {
    let (mut machine, mut total) = (Machine::new(), Traffic { packets: 1_000, errors: 7 });
    machine.after(0);
    assert!(is_silent(&minutes(&mut machine, Traffic { packets: 0, errors: 40 }, &mut total)));
}

#[test]
fn what_was_counted_before_is_no_fault() {
    let mut machine = Machine::new();
    machine.count("eth0", "rx_errors", 1_000_000);
    assert!(is_silent(&machine.during(900)));
}

#[test]
fn counters_that_go_back_or_wrap_are_no_errors() {
    let mut machine = Machine::new();
    machine.count("eth0", "rx_errors", u64::MAX).after(0);
    for count in [0, u64::MAX - 1, 3, u64::from(u32::MAX), 0] {
        let is_silent = is_silent(&machine.count("eth0", "rx_errors", count).after(15));
        assert_eq!(is_silent, count < 10, "{count}");
        machine.during(600);
    }
}

#[test]
fn a_restart_takes_no_errors_back_before_it_knows() {
    let (mut machine, mut total) = (Machine::new(), Traffic { packets: 1_000, errors: 7 });
    machine.after(0);
    assert!(!is_silent(&minutes(&mut machine, Traffic { packets: 10_000, errors: 100 }, &mut total)));
    machine.restart();
    assert_eq!(
        reported(&machine.after(15), "eth0"),
        ["InterfaceErrors: damaged packets, fewer within the last 5 min (limit 50, 1000 of a million); \
          check the cable, the transceiver and the other end"]
    );
    assert!(!is_silent(&machine.during(270)));
    assert!(is_silent(&machine.during(60)));
}

#[test]
fn what_the_card_had_no_room_for_is_reported_once_an_hour() {
    let mut machine = Machine::new();
    machine.count("eth0", "rx_missed_errors", 0).after(0);
    let mut reported = Vec::new();
    for step in 1..=480 {
        machine.count("eth0", "rx_missed_errors", step * 200).count("eth0", "rx_packets", step * 10_000);
        let findings = machine.after(15);
        assert!(findings.verdicts.iter().all(|verdict| matches!(verdict.state, State::Healthy { .. })));
        reported.extend(findings.events);
    }
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert_eq!((reported[0].reason.as_str(), reported[0].subject.as_deref()), ("InterfaceOverruns", Some("eth0")));
}

#[test]
fn dropped_packets_are_no_fault() {
    let mut machine = Machine::new();
    machine.count("eth0", "rx_dropped", 0).after(0);
    machine.count("eth0", "rx_dropped", 1_000_000);
    assert!(is_silent(&machine.during(600)));
}
