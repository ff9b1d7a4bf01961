//! Entries of the event log that are events of sensors: record type 02h (IPMI 2.0, table 32-1).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// As it stands in the log.
pub(super) type RawRecord = [u8; 16];

/// Records with a time and a layout of the standard's; C0h to FFh are the vendor's.
const SYSTEM_EVENT: u8 = 0x02;
/// The layout of events since IPMI 1.5.
const REVISION: u8 = 0x04;
/// Generator: the BMC itself, by its address on the management bus.
const OWN_ADDRESS: u8 = 0x20;
/// Event types: a threshold was crossed; what the sensor's own type defines.
pub(super) const THRESHOLD: u8 = 0x01;
pub(super) const SPECIFIC: u8 = 0x6f;

/// Types of sensors (IPMI 2.0, table 42-3).
pub(super) mod sensor_type {
    pub(in crate::bmc) const TEMPERATURE: u8 = 0x01;
    pub(in crate::bmc) const VOLTAGE: u8 = 0x02;
    pub(in crate::bmc) const FAN: u8 = 0x04;
    pub(in crate::bmc) const CHASSIS: u8 = 0x05;
    pub(in crate::bmc) const PROCESSOR: u8 = 0x07;
    pub(in crate::bmc) const POWER_SUPPLY: u8 = 0x08;
    pub(in crate::bmc) const MEMORY: u8 = 0x0c;
    pub(in crate::bmc) const DRIVE_SLOT: u8 = 0x0d;
    pub(in crate::bmc) const SYSTEM: u8 = 0x12;
    pub(in crate::bmc) const CRITICAL_INTERRUPT: u8 = 0x13;
    pub(in crate::bmc) const BOOT: u8 = 0x1e;
    pub(in crate::bmc) const WATCHDOG: u8 = 0x23;
}

/// One state of one sensor: what an event begins and another one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct SensorState {
    /// Whose sensor it is: as in the record, the lower byte first.
    pub generator: u16,
    pub sensor_type: u8,
    pub number: u8,
    pub event_type: u8,
    pub offset: u8,
}

/// Where the BMC is asked for one of its own sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct SensorAddress {
    pub lun: u8,
    pub number: u8,
}

/// An event of a sensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SensorEvent {
    pub state: SensorState,
    pub is_assertion: bool,
    /// By the BMC's clock, which may be wrong: to be shown, never to be judged by.
    pub time: u32,
    data: [u8; 3],
}

impl SensorEvent {
    /// `None`: another type of record, or a layout of another version.
    pub(super) fn of(record: &RawRecord) -> Option<Self> {
        let [_, _, SYSTEM_EVENT, t0, t1, t2, t3, g0, g1, REVISION, sensor_type, number, kind, data @ ..] = *record
        else {
            return None;
        };
        let state = SensorState {
            generator: u16::from_le_bytes([g0, g1]),
            sensor_type,
            number,
            event_type: kind & 0x7f,
            offset: data[0] & 0x0f,
        };
        let time = u32::from_le_bytes([t0, t1, t2, t3]);
        Some(Self { state, is_assertion: kind & 0x80 == 0, time, data }.normal())
    }

    /// A value that comes back over a limit ends what its way out began, whichever of the two ways a BMC records it: the
    /// offsets of thresholds are pairs, "going low" and "going high" (IPMI 2.0, table 42-2).
    fn normal(self) -> Self {
        let out = match self.state.offset {
            0x03 => 0x02,
            0x05 => 0x04,
            0x08 => 0x09,
            0x0a => 0x0b,
            _ => return self,
        };
        if self.state.event_type != THRESHOLD || !self.is_assertion {
            return self;
        }
        Self { state: SensorState { offset: out, ..self.state }, is_assertion: false, ..self }
    }

    /// A power supply or a drive was put in, or taken out: whether it is there now.
    pub(super) fn presence(&self) -> Option<bool> {
        let SensorState { sensor_type, event_type, offset, .. } = self.state;
        let can_be_taken_out = [sensor_type::POWER_SUPPLY, sensor_type::DRIVE_SLOT].contains(&sensor_type);
        (can_be_taken_out && event_type == SPECIFIC && offset == 0).then_some(self.is_assertion)
    }

    /// What the watchdog's timer was used for when it ended, where the event says so (IPMI 2.0, table 42-3, 23h).
    pub(super) fn timer_use(&self) -> Option<&'static str> {
        const HAS_EXTENSION: u8 = 0xc0;
        let [first, second, _] = self.data;
        if self.state.sensor_type != sensor_type::WATCHDOG || first & HAS_EXTENSION != HAS_EXTENSION {
            return None;
        }
        match second & 0x0f {
            1 => Some("firmware's self-test"),
            2 => Some("firmware"),
            3 => Some("the boot loader"),
            4 => Some("the operating system"),
            _ => None,
        }
    }
}

impl SensorState {
    /// Where it can be asked for; only the BMC's own sensors can.
    pub(super) fn address(&self) -> Option<SensorAddress> {
        let [address, place] = self.generator.to_le_bytes();
        let (channel, lun) = (place >> 4, place & 0x03);
        (address == OWN_ADDRESS && channel == 0).then_some(SensorAddress { lun, number: self.number })
    }

    /// Written by a program, not by what has the sensor: firmware, a handler of SMIs, `ipmitool event` (IPMI 2.0, table
    /// 32-1, generator ID).
    pub(super) fn is_of_software(&self) -> bool {
        self.generator & 1 == 1
    }

    pub(super) fn is_of_same_sensor(&self, other: &Self) -> bool {
        let sensor = |it: &Self| (it.generator, it.sensor_type, it.number);
        sensor(self) == sensor(other)
    }

    /// Whether the sensor shows it now, by the states that it shows; `None` if they are no evidence.
    pub(super) fn is_shown(&self, states: u16) -> Option<bool> {
        let bit = match (self.event_type, self.offset) {
            // Get Sensor Reading has a bit for each limit, not for each way over it (IPMI 2.0, section 35.14).
            (THRESHOLD, 0x02) => 1,
            (THRESHOLD, 0x04) => 2,
            (THRESHOLD, 0x09) => 4,
            (THRESHOLD, 0x0b) => 5,
            // A power supply or a drive that is neither there nor in any other state is a sensor that shows nothing.
            (SPECIFIC, _) if states == 0 => return None,
            (SPECIFIC, offset) => offset,
            _ => return None,
        };
        Some(states >> bit & 1 == 1)
    }

    /// What the sensor watches, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match self.sensor_type {
            sensor_type::TEMPERATURE => "temperature",
            sensor_type::VOLTAGE => "voltage",
            sensor_type::FAN => "fan",
            sensor_type::CHASSIS => "chassis",
            sensor_type::PROCESSOR => "processor",
            sensor_type::POWER_SUPPLY => "power supply",
            sensor_type::MEMORY => "memory",
            sensor_type::DRIVE_SLOT => "drive slot",
            sensor_type::SYSTEM => "system",
            sensor_type::CRITICAL_INTERRUPT => "interrupt",
            sensor_type::BOOT => "boot",
            sensor_type::WATCHDOG => "watchdog",
            _ => "other",
        }
    }

    /// For people, and for configs.
    pub(super) fn subject(&self) -> String {
        let owner = if self.generator == u16::from(OWN_ADDRESS) { String::new() } else { self.owner() };
        format!("{} sensor {:#04x}{owner}", self.kind(), self.number)
    }

    fn owner(&self) -> String {
        format!(" of {:#06x}", self.generator)
    }
}

/// A time of the BMC's clock, for people; it may be local time or UTC.
pub(super) fn shown_time(time: u32) -> String {
    let is_set = (FIRST_TIME..u32::MAX).contains(&time);
    let time = Timestamp::from_second(i64::from(time)).ok().filter(|_| is_set);
    time.map_or_else(|| "an unset time".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// Times before it are seconds since the BMC's start, not of a calendar (IPMI 2.0, section 37).
pub(super) const FIRST_TIME: u32 = 0x2000_0000;
