//! A BMC of its own process (OpenIPMI's `ipmi_sim`) behind the guest's system interface: its sensors make the entries of its
//! log, and a wire of ours may hold its answers back or mangle them.

use std::time::Duration;

use nodewell_bmc::{Delivery, Sensor, SystemInterface};
use nodewell_tests::suite::{Need, Suite};
use nodewell_vm::{
    BMC, GUEST,
    guest::{Guest, Plan},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("bmc_sensors")
        .case_with(
            &[Need::LongSuite, GUEST, BMC],
            "a_temperature_is_critical_and_ends_and_a_module_is_named",
            a_temperature_is_critical_and_ends_and_a_module_is_named,
        )
        .case_with(
            &[Need::LongSuite, GUEST, BMC],
            "answers_that_are_late_or_mangled_lose_nothing",
            answers_that_are_late_or_mangled_lose_nothing,
        );
}

/// Five minutes without, and what a busy machine adds.
const RECOVERY: Duration = Duration::from_secs(900);
/// Far longer than QEMU and the agent wait.
const LATE: Duration = Duration::from_secs(30);
const UNCORRECTED: &str = "BmcMemoryUncorrected";
const LIMIT_REACHED: &str = "BmcMemoryCorrectedLimit";

/// A guest whose agent has read the log, in which there is history alone.
fn watched(bmc: &SystemInterface) -> Guest {
    let guest = Plan::default().bmc(&bmc.socket()).modules(&["ipmi_si", "ipmi_devintf"]).boot();
    guest.until("the kernel finds the BMC", || (guest.run("test -c /dev/ipmi0").code == 0).then_some(()));
    guest.start_agent("check-processes = \"spawn\"\n[bmc]\ninterval = \"5s\"\n");
    guest.wait_condition("PowerUnhealthy", "False");
    guest
}

fn a_temperature_is_critical_and_ends_and_a_module_is_named() {
    let bmc = SystemInterface::start().unwrap();
    let guest = watched(&bmc);
    guest.wait_hardware("BMCs", |bmcs| (bmcs.total, bmcs.states.is_empty()) == (1, true));
    bmc.set(Sensor::Temperature, Sensor::CRITICAL);
    let hot = guest.wait_problem("CoolingUnhealthy", "BmcTemperatureCritical");
    assert_eq!(hot.subject.as_deref(), Some("temperature sensor 0x01"), "{hot:?}");
    assert!(hot.message.starts_with("Inlet Temp: above its critical limit"), "{hot:?}");
    bmc.set(Sensor::Temperature, 40);
    guest.until_within(RECOVERY, "the end of the problem", || {
        guest.condition("CoolingUnhealthy").filter(|condition| condition.status.as_str() == "False")
    });
    assert_eq!(reported(&guest, UNCORRECTED), Some(0), "the entry from before the agent is history");
    bmc.set(Sensor::Memory, Sensor::UNCORRECTABLE);
    let lost = guest.wait_event(UNCORRECTED, |_| true);
    assert_eq!(lost.subject.as_deref(), Some("memory sensor 0x10"), "{lost:?}");
    assert!(lost.message.contains(&format!("memory module {}", Sensor::MEMORY_NAME)), "{lost:?}");
}

/// What happens while the BMC cannot be understood is reported when it can be again, once.
fn answers_that_are_late_or_mangled_lose_nothing() {
    let bmc = SystemInterface::start().unwrap();
    let guest = watched(&bmc);
    // QEMU gives up before the agent does, as a rule, and says that it was a timeout.
    let silent: &[&str] = &["completion code c3h", "no answer within"];
    let mut expected = [(UNCORRECTED, 0), (LIMIT_REACHED, 0)];
    for (delivery, said) in [
        (Delivery::Late(LATE), silent),
        (Delivery::Noisy, silent),
        (Delivery::Cut, &["too few bytes"][..]),
        (Delivery::Foreign, &["completion code ffh"][..]),
    ] {
        bmc.wire.deliver(delivery);
        guest.until(&format!("the condition is unknown while answers are {delivery:?}"), || {
            let power = guest.condition("PowerUnhealthy")?;
            let is_said = said.iter().any(|words| power.message.contains(*words));
            (power.status.as_str() == "Unknown" && is_said).then_some(())
        });
        happen(&guest, &bmc, &mut expected[0]);
        bmc.wire.deliver(Delivery::Prompt);
        guest.wait_condition("PowerUnhealthy", "False");
        for (reason, times) in expected {
            guest.until(&format!("{reason} is reported {times} times, after answers were {delivery:?}"), || {
                (reported(&guest, reason)? == times).then_some(())
            });
        }
        // The state that is not there now is the next to come.
        expected.swap(0, 1);
    }
}

/// The memory sensor gets into the state that is reported so, and the BMC logs it.
fn happen(guest: &Guest, bmc: &SystemInterface, (reason, times): &mut (&str, u64)) {
    let before = bmc.log_length();
    bmc.set(Sensor::Memory, if *reason == UNCORRECTED { Sensor::UNCORRECTABLE } else { Sensor::LIMIT });
    guest.until("the BMC has logged it", || (bmc.log_length() > before).then_some(()));
    *times += 1;
}

/// How often that happened, by the agent.
fn reported(guest: &Guest, reason: &str) -> Option<u64> {
    let events = guest.events()?;
    Some(events.iter().filter(|event| event.reason.as_str() == reason).map(|event| event.count).sum())
}
