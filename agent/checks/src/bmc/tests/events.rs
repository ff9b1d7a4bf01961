//! What events mean: the standard's tables, row by row.

use super::fake::{ASSERTED, DEASSERTED, NEW_YEAR, record};
use crate::bmc::{
    event::{SensorEvent, SensorState, shown_time},
    meaning::Meaning,
};

const OVER: u8 = 0x01;
const BACK: u8 = 0x81;

fn event(sensor_type: u8, kind: u8, data: u8) -> SensorEvent {
    SensorEvent::of(&record(1, NEW_YEAR, (sensor_type, 0x41, kind, data))).unwrap()
}

/// The reason, and the condition if it has one.
fn reason(event: &SensorEvent) -> Option<(&'static str, &'static str)> {
    match Meaning::of(&event.state)? {
        Meaning::Fault { condition, reason, .. } => Some((reason, condition)),
        Meaning::Happens { reason, .. } | Meaning::Ends { reason, .. } => Some((reason, "")),
    }
}

#[test]
fn what_lasts_is_a_fault_of_its_condition() {
    for (sensor_type, kind, offset, expected) in [
        (0x01, OVER, 0x09, Some(("BmcTemperatureCritical", "CoolingUnhealthy"))),
        (0x01, OVER, 0x0b, Some(("BmcTemperatureCritical", "CoolingUnhealthy"))),
        (0x01, OVER, 0x07, None),
        (0x01, OVER, 0x02, None),
        (0x02, OVER, 0x02, Some(("BmcVoltageCritical", "PowerUnhealthy"))),
        (0x02, OVER, 0x0b, Some(("BmcVoltageCritical", "PowerUnhealthy"))),
        (0x02, OVER, 0x00, None),
        (0x04, OVER, 0x02, Some(("BmcFanCritical", "CoolingUnhealthy"))),
        (0x04, OVER, 0x04, Some(("BmcFanCritical", "CoolingUnhealthy"))),
        (0x04, OVER, 0x09, None),
        (0x04, OVER, 0x00, None),
        // Of a type that is not known to be harmful: current.
        (0x03, OVER, 0x09, None),
        (0x08, ASSERTED, 0x01, Some(("PowerSupplyFailed", "PowerUnhealthy"))),
        (0x08, ASSERTED, 0x02, Some(("PowerSupplyFailing", "PowerUnhealthy"))),
        (0x08, ASSERTED, 0x03, Some(("PowerSupplyInputLost", "PowerUnhealthy"))),
        (0x08, ASSERTED, 0x05, Some(("PowerSupplyInputLost", "PowerUnhealthy"))),
        (0x08, ASSERTED, 0x06, None),
        (0x0d, ASSERTED, 0x01, Some(("DriveSlotFault", "DiskUnhealthy"))),
        (0x0d, ASSERTED, 0x02, Some(("DriveSlotFailing", "DiskUnhealthy"))),
        (0x0d, ASSERTED, 0x07, None),
        // Of another event type the same offset is something else: redundancy, severity.
        (0x08, 0x0b, 0x01, None),
        (0x04, 0x07, 0x02, None),
        (0x08, OVER, 0x01, None),
    ] {
        // The upper half of event data 1 says what the other two bytes hold.
        for extension in [0x00, 0x50, 0xa0] {
            let event = event(sensor_type, kind, offset | extension);
            assert_eq!(reason(&event), expected, "{sensor_type:02x} {kind:02x} {offset:02x}");
            assert!(event.is_assertion);
        }
    }
}

#[test]
fn what_happens_is_an_event() {
    for (sensor_type, offset, expected) in [
        (0x05, 0, Some("ChassisOpened")),
        (0x05, 4, None),
        (0x07, 0, Some("BmcProcessorError")),
        (0x07, 1, Some("BmcProcessorError")),
        (0x07, 4, Some("BmcProcessorError")),
        (0x07, 7, None),
        (0x07, 10, None),
        (0x08, 0, Some("PowerSupplyRemoved")),
        (0x0c, 0, None),
        (0x0c, 1, Some("BmcMemoryUncorrected")),
        (0x0c, 5, Some("BmcMemoryCorrectedLimit")),
        (0x0c, 6, None),
        (0x12, 1, None),
        (0x12, 2, Some("BmcHardwareFailure")),
        (0x13, 0, None),
        (0x13, 4, Some("BmcCriticalInterrupt")),
        (0x13, 5, Some("BmcCriticalInterrupt")),
        (0x13, 7, None),
        (0x13, 10, Some("BmcCriticalInterrupt")),
        (0x1e, 0, Some("BmcBootError")),
        (0x1e, 2, None),
        (0x23, 0, None),
        (0x23, 1, Some("BmcWatchdogExpired")),
        (0x23, 3, Some("BmcWatchdogExpired")),
        (0x23, 8, None),
        (0xc1, 1, None),
    ] {
        let found = reason(&event(sensor_type, ASSERTED, offset));
        assert_eq!(found, expected.map(|reason| (reason, "")), "{sensor_type:02x} {offset}");
    }
}

/// `ipmitool event 1` is a temperature above its critical limit, of generator 41h.
#[test]
fn what_a_program_wrote_holds_nothing() {
    let is_judged = |generator, sensor_type, kind, offset| {
        Meaning::of(&SensorState { generator, ..event(sensor_type, kind, offset).state }).is_some()
    };
    for generator in [0x0001, 0x0033, 0x0041] {
        assert!(!is_judged(generator, 0x01, OVER, 0x09) && !is_judged(generator, 0x08, ASSERTED, 0x01));
        assert!(is_judged(generator, 0x0c, ASSERTED, 0x01), "it happened");
    }
    assert!(is_judged(0x0020, 0x01, OVER, 0x09) && is_judged(0x002c, 0x08, ASSERTED, 0x01));
}

#[test]
fn what_can_be_taken_out_has_a_presence() {
    for (sensor_type, kind, offset, expected) in [
        (0x08, ASSERTED, 0, Some(true)),
        (0x08, DEASSERTED, 0, Some(false)),
        (0x0d, DEASSERTED, 0, Some(false)),
        (0x08, DEASSERTED, 1, None),
        (0x04, DEASSERTED, 0, None),
        (0x08, BACK, 0, None),
    ] {
        assert_eq!(event(sensor_type, kind, offset).presence(), expected, "{sensor_type:x} {kind:x} {offset}");
    }
}

#[test]
fn a_value_that_comes_back_over_its_limit_is_the_end_of_its_way_out() {
    for (back, out) in [(0x03, 0x02), (0x05, 0x04), (0x08, 0x09), (0x0a, 0x0b)] {
        let (came_back, went_out) = (event(0x02, OVER, back), event(0x02, OVER, out));
        assert_eq!((came_back.state, came_back.is_assertion), (went_out.state, false));
        assert_eq!(reason(&event(0x02, BACK, back)), None, "its deassertion may be either");
        assert_eq!((event(0x02, BACK, out).state, event(0x02, BACK, out).is_assertion), (went_out.state, false));
    }
    assert!(event(0x08, ASSERTED, 0x03).is_assertion, "offsets of other types are no pairs");
}

#[test]
fn other_records_are_none() {
    let good = record(1, NEW_YEAR, (0x08, 0x61, ASSERTED, 0x01));
    for (at, value) in [(2, 0xc0), (2, 0xe0), (2, 0x00), (2, 0xff), (9, 0x03), (9, 0xff)] {
        let mut other = good;
        other[at] = value;
        assert_eq!(SensorEvent::of(&other), None, "{at}: {value:02x}");
    }
    assert_eq!(SensorEvent::of(&[0xff; 16]), None);
}

#[test]
fn a_sensor_shows_the_state_that_its_event_began() {
    let shown = |sensor_type, kind, offset, states| event(sensor_type, kind, offset).state.is_shown(states);
    for (offset, states, expected) in
        [(0x02, 0x02, true), (0x02, 0x3d, false), (0x04, 0x06, true), (0x09, 0x10, true), (0x0b, 0x20, true)]
    {
        assert_eq!(shown(0x02, OVER, offset, states), Some(expected), "{offset:x} {states:x}");
        assert_eq!(shown(0x02, OVER, offset, 0), Some(false));
    }
    assert_eq!(shown(0x08, ASSERTED, 1, 0b0011), Some(true));
    assert_eq!(shown(0x08, ASSERTED, 1, 0b0001), Some(false));
    assert_eq!(shown(0x08, ASSERTED, 1, 0), None, "not even present: it shows nothing");
    assert_eq!(shown(0x08, 0x0b, 1, 0xffff), None);
}

#[test]
fn only_the_bmcs_own_sensors_can_be_asked() {
    let state = |generator| SensorState { generator, ..event(0x04, OVER, 0x02).state };
    for (generator, lun, subject) in [
        (0x0020, Some(0), "fan sensor 0x41"),
        (0x0220, Some(2), "fan sensor 0x41 of 0x0220"),
        (0x1020, None, "fan sensor 0x41 of 0x1020"),
        (0x002c, None, "fan sensor 0x41 of 0x002c"),
        (0x0041, None, "fan sensor 0x41 of 0x0041"),
    ] {
        let state = state(generator);
        assert_eq!((state.address().map(|address| address.lun), state.subject().as_str()), (lun, subject));
    }
}

#[test]
fn a_time_is_shown_if_it_is_one() {
    for time in [0, 17, 0x1fff_ffff, u32::MAX] {
        assert_eq!(shown_time(time), "an unset time");
    }
    assert_eq!(shown_time(NEW_YEAR), "2026-01-01 00:00:00");
    assert_eq!(shown_time(u32::MAX - 1), "2106-02-07 06:28:14");
}

#[test]
fn the_watchdogs_user_is_named_where_the_event_has_it() {
    let of = |data: u8, second: u8| {
        let mut record = record(1, NEW_YEAR, (0x23, 0x41, ASSERTED, data));
        record[14] = second;
        SensorEvent::of(&record).unwrap().timer_use()
    };
    assert_eq!(of(0xc1, 0x04), Some("the operating system"));
    assert_eq!(of(0xc1, 0x33), Some("the boot loader"));
    assert_eq!((of(0xc1, 0x0f), of(0x01, 0x04), of(0x81, 0x04)), (None, None, None));
    let deasserted = record(1, NEW_YEAR, (0x08, 0x41, DEASSERTED, 0xc1));
    assert_eq!(SensorEvent::of(&deasserted).unwrap().timer_use(), None, "another type of sensor");
}
