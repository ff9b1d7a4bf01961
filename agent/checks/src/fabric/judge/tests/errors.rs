use super::*;

fn set(fabric: &mut Fabric, counter: &str, count: u64) {
    fabric.port().counters.insert(counter.to_owned(), count);
}

#[test]
fn errors_are_judged_by_their_rate_and_not_by_what_was_counted_before() {
    let mut fabric = Fabric::ordinary();
    set(&mut fabric, "symbol_error", 40_000);
    assert!(is_healthy(&fabric.after(0)));
    set(&mut fabric, "symbol_error", 40_119);
    assert!(is_healthy(&fabric.after(10)));
    set(&mut fabric, "symbol_error", 40_120);
    let findings = fabric.after(10);
    assert_eq!(reported(&findings, PORT), ["FabricSymbolErrors"]);
    assert_eq!(
        message(&findings),
        "errors within an hour: symbol_error 100 or more (limit 120); clean or replace the cable and transceivers"
    );
    assert_eq!(findings.hardware[0].states, BTreeMap::from([("failing".to_owned(), 1)]));
    assert!(is_healthy(&fabric.during(4_000)));
}

#[test]
fn all_counters_of_a_reason_are_one_fault() {
    let mut fabric = Fabric::ordinary();
    for counter in ["link_error_recovery", "local_link_integrity_errors"] {
        set(&mut fabric, counter, 1);
    }
    fabric.after(0);
    set(&mut fabric, "link_error_recovery", 13);
    set(&mut fabric, "local_link_integrity_errors", 3);
    let findings = fabric.after(10);
    assert_eq!(reported(&findings, PORT), ["FabricLinkErrors"]);
    assert_eq!(
        message(&findings),
        "errors within an hour: link_error_recovery 10 or more (limit 10), local_link_integrity_errors 2 or more \
         (limit 2); clean or replace the cable and transceivers"
    );
}

#[test]
fn a_counter_that_was_set_to_zero_is_no_fault() {
    let mut fabric = Fabric::ordinary();
    for count in [60_000, 0, 5] {
        set(&mut fabric, "symbol_error", count);
        assert!(is_healthy(&fabric.after(10)));
    }
}

/// Which counters are reported as full, with so many symbol errors and damaged packets.
fn full(fabric: &mut Fabric, symbol_errors: u64, damaged: u64) -> Vec<String> {
    set(fabric, "symbol_error", symbol_errors);
    set(fabric, "port_rcv_errors", damaged);
    let events = fabric.after(10).events;
    assert!(events.iter().all(|event| event.reason.as_str() == "FabricCounterFull"));
    events.into_iter().map(|event| event.message).collect()
}

#[test]
fn a_counter_that_stops_at_its_limit_while_others_grow_is_reported_once() {
    let mut fabric = Fabric::ordinary();
    for (symbol_errors, damaged) in [(65_530, 0), (65_535, 1), (65_535, 1), (65_535, 2)] {
        assert_eq!(full(&mut fabric, symbol_errors, damaged), [""; 0]);
    }
    fabric.restart();
    assert_eq!(
        full(&mut fabric, 65_535, 3),
        ["symbol_error is full and counts no further; set the counters to zero with perfquery -R"]
    );
    fabric.restart();
    assert_eq!(full(&mut fabric, 65_535, 4), [""; 0]);
    // Set to zero, and 32 bits wide after all.
    assert_eq!(full(&mut fabric, 0, 4), [""; 0]);
    assert_eq!(full(&mut fabric, u64::from(u32::MAX), 4).len(), 1);
    assert_eq!(full(&mut fabric, u64::from(u32::MAX), 5), [""; 0]);
}

#[test]
fn a_counter_that_rests_where_a_smaller_one_would_stop_is_not_full() {
    let mut fabric = Fabric::ordinary();
    // So it was at the first look.
    for damaged in 0..10 {
        assert_eq!(full(&mut fabric, 65_535, damaged), [""; 0]);
    }
    // There are no more errors; and then there are.
    let mut fabric = Fabric::ordinary();
    for symbol_errors in [0, 65_535, 65_535, 65_535, 65_535, 65_536, 65_537] {
        assert_eq!(full(&mut fabric, symbol_errors, 7), [""; 0]);
    }
}

#[test]
fn three_downs_within_half_a_day_are_flapping() {
    let mut fabric = Fabric::ordinary();
    set(&mut fabric, "link_downed", 5);
    fabric.after(0);
    set(&mut fabric, "link_downed", 7);
    assert!(is_healthy(&fabric.after(3_600)));
    set(&mut fabric, "link_downed", 8);
    let findings = fabric.after(3_600);
    assert_eq!(reported(&findings, PORT), ["FabricPortFlapping"]);
    assert_eq!(
        message(&findings),
        "went down 3 times within 12 h (limit 3); clean or replace the cable and transceivers (card unknown)"
    );
    fabric.restart();
    assert_eq!(reported(&fabric.after(36_000), PORT), ["FabricPortFlapping"]);
    assert!(is_healthy(&fabric.after(4 * 3_600)));
}

#[test]
fn the_interfaces_count_goes_before_the_cards() {
    let mut fabric = Fabric::ethernet();
    set(&mut fabric, "link_downed", 5);
    fabric.after(0);
    set(&mut fabric, "link_downed", 9);
    assert!(is_healthy(&fabric.after(10)));
    fabric.interface().carrier_downs = Some(10);
    assert_eq!(reported(&fabric.set(1, 3).after(10), PORT), ["FabricPortFlapping"]);
}

#[test]
fn a_carrier_that_no_poll_saw_go_was_a_change_of_settings() {
    let mut fabric = Fabric::ethernet();
    fabric.after(0);
    for round in 1..10 {
        fabric.interface().carrier_downs = Some(7 + round);
        assert!(is_healthy(&fabric.after(10)), "round {round}");
    }
    // Seen at the one reading or at the next, it counts.
    for round in 0..3 {
        assert!(is_healthy(&fabric.during(60)), "round {round}");
        fabric.interface().carrier_downs = Some(17 + round);
        fabric.set(1, 3).after(10);
        fabric.set(4, 5);
    }
    assert_eq!(reported(&fabric.after(10), PORT), ["FabricPortFlapping"]);
}

#[test]
fn a_link_that_settles_after_an_operator_took_it_up_does_not_flap() {
    let mut fabric = Fabric::ethernet();
    fabric.after(0);
    for round in 1..10 {
        fabric.interface().is_wanted = false;
        fabric.set(1, 3).after(10);
        fabric.interface().is_wanted = true;
        fabric.interface().carrier_downs = Some(7 + 2 * round);
        assert!(is_healthy(&fabric.set(4, 5).after(10)), "round {round}");
    }
}

#[test]
fn what_an_operator_takes_down_does_not_flap() {
    let mut fabric = Fabric::ethernet();
    fabric.after(0);
    for round in 1..10 {
        fabric.interface().carrier_downs = Some(7 + round);
        fabric.interface().is_wanted = false;
        fabric.set(1, 3).after(10);
        fabric.interface().is_wanted = true;
        assert!(is_healthy(&fabric.set(4, 5).after(10)), "round {round}");
    }
}

#[test]
fn a_card_whose_count_is_full_is_counted_by_what_is_seen() {
    let mut fabric = Fabric::ordinary();
    set(&mut fabric, "link_downed", 255);
    fabric.after(0);
    for _ in 0..2 {
        fabric.set(1, 2).after(30);
        assert!(is_healthy(&fabric.set(4, 5).after(30)));
    }
    fabric.set(1, 2).after(30);
    assert_eq!(reported(&fabric.set(4, 5).after(30), PORT), ["FabricPortFlapping"]);
}
