//! What an event of a sensor means for the node: the standard's own tables (IPMI 2.0, tables 42-2 and 42-3), and of these
//! only what needs a person.

use super::event::{SPECIFIC, SensorState, THRESHOLD, sensor_type};

pub(super) const COOLING: &str = "CoolingUnhealthy";
pub(super) const POWER: &str = "PowerUnhealthy";
pub(super) const DISK: &str = "DiskUnhealthy";

/// What one state of a sensor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A fault that lasts until the state is deasserted.
    Fault { condition: &'static str, reason: &'static str, text: &'static str },
    /// Something that happens at its assertion; its deassertion is nothing.
    Happens { reason: &'static str, text: &'static str },
    /// Something that happens at its deassertion.
    Ends { reason: &'static str, text: &'static str },
}

impl Meaning {
    /// `None`: nothing that is judged. What a program wrote can have happened, but no sensor takes it back: it holds
    /// nothing.
    pub(super) fn of(state: &SensorState) -> Option<Self> {
        let meaning = match state.event_type {
            THRESHOLD => crossed(state.sensor_type, state.offset),
            SPECIFIC => specific(state.sensor_type, state.offset),
            _ => None,
        };
        meaning.filter(|meaning| !(matches!(meaning, Self::Fault { .. }) && state.is_of_software()))
    }
}

/// Whether an operator may leave a machine so for years: a supply without its cable (which some boards report as failed),
/// a fan that was taken out or is slower than its board wants.
pub(super) fn may_be_meant(state: &SensorState) -> bool {
    match (state.event_type, state.sensor_type) {
        (SPECIFIC, sensor_type::POWER_SUPPLY) => state.offset != 2,
        (THRESHOLD, sensor_type::FAN) => true,
        _ => false,
    }
}

/// Critical and non-recoverable limits, in the direction that harms; what is not critical is for graphs.
fn crossed(sensor: u8, offset: u8) -> Option<Meaning> {
    let (is_above, text) = match offset {
        0x02 => (false, "below its critical limit"),
        0x04 => (false, "below its non-recoverable limit"),
        0x09 => (true, "above its critical limit"),
        0x0b => (true, "above its non-recoverable limit"),
        _ => return None,
    };
    let (condition, reason) = match (sensor, is_above) {
        (sensor_type::FAN, false) => (COOLING, "BmcFanCritical"),
        (sensor_type::TEMPERATURE, true) => (COOLING, "BmcTemperatureCritical"),
        (sensor_type::VOLTAGE, _) => (POWER, "BmcVoltageCritical"),
        _ => return None,
    };
    Some(Meaning::Fault { condition, reason, text })
}

fn specific(sensor: u8, offset: u8) -> Option<Meaning> {
    match sensor {
        sensor_type::POWER_SUPPLY => power_supply(offset),
        sensor_type::DRIVE_SLOT => drive_slot(offset),
        sensor_type::CHASSIS => happens("ChassisOpened", chassis(offset)?),
        sensor_type::PROCESSOR => happens("BmcProcessorError", processor(offset)?),
        sensor_type::MEMORY => memory(offset),
        sensor_type::SYSTEM if offset == 2 => happens("BmcHardwareFailure", "undetermined system hardware failure"),
        sensor_type::CRITICAL_INTERRUPT => happens("BmcCriticalInterrupt", critical_interrupt(offset)?),
        sensor_type::BOOT => happens("BmcBootError", boot(offset)?),
        sensor_type::WATCHDOG => happens("BmcWatchdogExpired", watchdog(offset)?),
        _ => None,
    }
}

fn happens(reason: &'static str, text: &'static str) -> Option<Meaning> {
    Some(Meaning::Happens { reason, text })
}

fn power_supply(offset: u8) -> Option<Meaning> {
    let (reason, text) = match offset {
        0 => return Some(Meaning::Ends { reason: "PowerSupplyRemoved", text: "it is not there any more" }),
        1 => ("PowerSupplyFailed", "it has failed"),
        2 => ("PowerSupplyFailing", "it predicts its failure"),
        3 => ("PowerSupplyInputLost", "its input is lost"),
        4 => ("PowerSupplyInputLost", "its input is lost or out of range"),
        5 => ("PowerSupplyInputLost", "its input is out of range"),
        _ => return None,
    };
    Some(Meaning::Fault { condition: POWER, reason, text })
}

fn drive_slot(offset: u8) -> Option<Meaning> {
    let (reason, text) = match offset {
        1 => ("DriveSlotFault", "its drive has failed"),
        2 => ("DriveSlotFailing", "its drive predicts its failure"),
        _ => return None,
    };
    Some(Meaning::Fault { condition: DISK, reason, text })
}

/// Event data 2 and 3 may name a module, each vendor in its own way: not read.
fn memory(offset: u8) -> Option<Meaning> {
    match offset {
        1 => happens("BmcMemoryUncorrected", "uncorrectable ECC error"),
        5 => happens("BmcMemoryCorrectedLimit", "so many corrected errors that no more are logged"),
        _ => None,
    }
}

fn chassis(offset: u8) -> Option<&'static str> {
    match offset {
        0 => Some("chassis intrusion"),
        1 => Some("drive bay opened"),
        2 => Some("I/O card area opened"),
        3 => Some("processor area opened"),
        6 => Some("fan area opened"),
        _ => None,
    }
}

/// Throttling and corrected machine checks are the cpu check's.
fn processor(offset: u8) -> Option<&'static str> {
    match offset {
        0 => Some("internal error (IERR)"),
        1 => Some("thermal trip"),
        2 => Some("failed its built-in self-test (FRB1)"),
        3 => Some("hung in the firmware's self-test (FRB2)"),
        4 => Some("did not start (FRB3)"),
        6 => Some("uncorrectable error of the CPU complex"),
        11 => Some("machine check exception"),
        _ => None,
    }
}

/// A person's button, a program's NMI and what was corrected are left out.
fn critical_interrupt(offset: u8) -> Option<&'static str> {
    match offset {
        1 => Some("bus timeout"),
        2 => Some("NMI of an I/O channel check"),
        4 => Some("PCI parity error (PERR)"),
        5 => Some("PCI system error (SERR)"),
        8 => Some("uncorrectable bus error"),
        9 => Some("fatal NMI"),
        10 => Some("fatal bus error"),
        _ => None,
    }
}

/// A server for PXE that was not found, or a person who did not choose, is how many machines boot.
fn boot(offset: u8) -> Option<&'static str> {
    match offset {
        0 => Some("no bootable medium"),
        3 => Some("invalid boot sector"),
        _ => None,
    }
}

fn watchdog(offset: u8) -> Option<&'static str> {
    match offset {
        1 => Some("its timer ended, hard reset"),
        2 => Some("its timer ended, power down"),
        3 => Some("its timer ended, power cycle"),
        _ => None,
    }
}
