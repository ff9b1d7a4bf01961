//! A fan that stands still and a board that is too hot: a driver of the kernel's reads registers that the case writes.

use std::{thread, time::Duration};

use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    GUEST,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("board_sensors").case_with(
        &[Need::LongSuite, GUEST],
        "a_fan_and_a_temperature_are_judged",
        a_fan_and_a_temperature_are_judged,
    );
}

/// Registers of the MAX6639 (its data sheet; drivers/hwmon/max6639.c): degrees Celsius at the first diode, and how long a turn
/// of the first fan takes; 255 is a fan that stands.
const TEMPERATURE: u8 = 0x00;
const TURN: u8 = 0x20;
const STANDS: u8 = 255;

/// The chip is the kernel's own stub at an address of a bus without wires (Documentation/i2c/i2c-stub.rst).
fn set(guest: &Guest, register: u8, value: u8) {
    guest.sh(&format!("i2cset -y -f $(cat /tmp/bus) 0x2e {register:#04x} {value:#04x} b"));
}

fn a_fan_and_a_temperature_are_judged() {
    let guest = Plan::default().modules(&["i2c-dev", "max6639"]).boot();
    guest.sh("modprobe i2c-stub chip_addr=0x2e");
    guest.sh("cd /sys/bus/i2c/devices && echo i2c-* | tr -d 'i2c-' >/tmp/bus");
    set(&guest, TEMPERATURE, 40);
    set(&guest, TURN, 100);
    guest.sh("echo max6639 0x2e >/sys/bus/i2c/devices/i2c-$(cat /tmp/bus)/new_device");
    guest.start_agent("check-processes = \"spawn\"\n[sensors]\ninterval = \"5s\"\n");
    guest.wait_condition("CoolingUnhealthy", "False");
    guest.wait_hardware("fans and temperatures", |class| class.states.is_empty());
    // A fan that turned for less than a minute is none that could stand still.
    thread::sleep(TURNS_FOR);
    set(&guest, TURN, STANDS);
    let stopped = guest.wait_problem("CoolingUnhealthy", "FanStopped");
    let subject = format!("fan1 of max6639 {}-002e", guest.sh("cat /tmp/bus"));
    assert_eq!(stopped.subject.as_deref(), Some(subject.as_str()), "{stopped:?}");
    // Its driver sets 90 °C as critical.
    set(&guest, TEMPERATURE, 95);
    let hot = guest.wait_problem("CoolingUnhealthy", "TemperatureCritical");
    assert!(hot.message.contains("95 °C, critical from 90 °C"), "{hot:?}");
    set(&guest, TURN, 100);
    set(&guest, TEMPERATURE, 40);
    guest.until_within(RECOVERY, "the end of both", || {
        guest.condition("CoolingUnhealthy").filter(|condition| condition.status.as_str() == "False")
    });
}

const TURNS_FOR: Duration = Duration::from_secs(120);
/// Five minutes without, and what a busy machine adds.
const RECOVERY: Duration = Duration::from_secs(900);
