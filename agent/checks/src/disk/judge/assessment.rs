//! What is found out about one device while its reading is gone through.

use std::fmt::Display;

use jiff::Timestamp;
use nodewell_faults::message;
use nodewell_message::MessageArgs;
use nodewell_model::Name;

use crate::{
    disk::{
        baseline::{Baseline, CounterGrowth, ReadTime},
        part::Part,
        reading::Identity,
    },
    probe::{DeviceEvent, Fault, RecoveryEvidence, State},
};

/// All of the rated writes are used.
pub(super) const WORN_PERCENT: u8 = 100;

/// Grows while a reading is judged.
pub(super) struct Assessment {
    device: String,
    wall: Timestamp,
    /// What people know the disk by; it stands with its faults: that is the disk to pull out.
    disk: String,
    pub(super) faults: Vec<Fault>,
    pub(super) events: Vec<DeviceEvent>,
    /// Why the device's health is unknown, if it is.
    unknown: Option<State>,
    /// Why it is healthy, where there are no figures.
    healthy: Option<State>,
    /// Figures of a healthy disk.
    notes: Vec<String>,
    /// Reasons that are unknown this time, because what carries them could not be read.
    unread: Vec<&'static str>,
    /// What is proven to be over, and by what.
    recovery: Option<(&'static str, String)>,
}

impl Assessment {
    pub(super) fn of(device: &str, identity: &Identity, moment: ReadTime) -> Self {
        Self {
            device: device.to_owned(),
            wall: moment.wall,
            disk: label(identity),
            faults: Vec::new(),
            events: Vec::new(),
            unknown: None,
            healthy: None,
            notes: Vec::new(),
            unread: Vec::new(),
            recovery: None,
        }
    }

    /// A fault of the disk; its message has `{disk}` beside these arguments.
    pub(super) fn fault(&mut self, key: &'static str, args: MessageArgs<'_>) {
        let fault = Fault::of(key, &self.with_disk(args));
        self.faults.push(fault);
    }

    /// A fault if the counter grew; a figure for people if it stands at something.
    pub(super) fn growth(&mut self, reason: &'static str, growth: CounterGrowth) {
        let total = growth.base.saturating_add(growth.grown);
        if growth.grown > 0 {
            let fault = Fault::of(reason, &self.with_disk(&[("total", &total), ("base", &growth.base)]));
            self.faults.push(Fault { since: growth.since, ..fault });
        } else if total > 0 {
            self.note(&format!("{reason}/figure"), &[("total", &total)]);
        }
    }

    /// Something that happened, at the time of the reading; arguments as of [`Self::fault`].
    pub(super) fn event(&mut self, key: &'static str, args: MessageArgs<'_>) {
        let event = DeviceEvent::of(key, &self.device, &self.with_disk(args), self.wall);
        self.events.push(event);
    }

    /// The same of what is no disk: its message has these arguments alone.
    pub(super) fn own_event(&mut self, key: &'static str, args: MessageArgs<'_>) {
        self.events.push(DeviceEvent::of(key, &self.device, args, self.wall));
    }

    fn with_disk<'a>(&'a self, args: MessageArgs<'a>) -> Vec<(&'a str, &'a dyn Display)> {
        args.iter().copied().chain([("disk", &self.disk as &dyn Display)]).collect()
    }

    /// `limit` with its unit, or whose it is.
    pub(super) fn overheating(&mut self, celsius: Option<i16>, limit: &str) {
        let temperature = celsius.map_or_else(|| "unknown".to_owned(), |celsius| format!("{celsius} °C"));
        self.fault("DiskOverheating", &[("temperature", &temperature), ("limit", &limit)]);
    }

    pub(super) fn note_temperature(&mut self, celsius: Option<i16>) {
        if let Some(celsius) = celsius {
            self.note("DiskUnhealthy/figure-temperature", &[("celsius", &celsius)]);
        }
    }

    pub(super) fn worn(&mut self, used_percent: u8) {
        self.fault("DiskWornOut", &[("used", &used_percent), ("limit", &WORN_PERCENT)]);
    }

    /// Healthy, for another reason than its figures.
    pub(super) fn set_healthy(&mut self, key: &'static str, args: MessageArgs<'_>) {
        self.healthy = Some(State::healthy(key, args));
    }

    /// A figure for people.
    pub(super) fn note(&mut self, key: &str, args: MessageArgs<'_>) {
        let note = message(key, args);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What others claim is over.
    pub(super) fn is_over(&mut self, reason: &'static str, key: &str, args: MessageArgs<'_>) {
        self.recovery = Some((reason, message(key, args)));
    }

    /// The part without which the device's state is unknown.
    pub(super) fn need<'a, T>(&mut self, part: &'a Part<T>) -> Option<&'a T> {
        match part {
            Part::Read(value) => return Some(value),
            Part::Unreadable(message) => self.set_unknown(State::unreadable(message)),
            Part::Denied(message) => self.set_unknown(State::denied(message)),
            Part::Absent => self.set_healthy("DiskUnhealthy/healthy-no-data", &[]),
        }
        None
    }

    /// A part that others do without; if it should be there and cannot be read, faults of these reasons are not over.
    pub(super) fn carried<'a, T>(&mut self, part: &'a Part<T>, reasons: &[&'static str]) -> Option<&'a T> {
        if part.is_lost() {
            self.unread.extend_from_slice(reasons);
        }
        part.read()
    }

    /// The disk still has the faults that could not be read this time. Where nothing at all is known, the verdict is
    /// that, and the ledger retains the faults it holds.
    pub(super) fn retain_unread(&mut self, baseline: &Baseline) {
        if self.faults.is_empty() && !self.is_known() {
            return;
        }
        let is_unread = |fault: &Fault| {
            self.unread.contains(&fault.reason.as_str())
                && !self.faults.iter().any(|found| found.reason == fault.reason)
        };
        let unread: Vec<_> = baseline.saved_faults().into_iter().filter(is_unread).collect();
        self.faults.extend(unread);
    }

    /// A part that may be missing if another is there.
    pub(super) fn need_either<'a, T>(&mut self, part: &'a Part<T>, has_other: bool) -> Option<&'a T> {
        if has_other { part.read() } else { self.need(part) }
    }

    pub(super) fn set_unknown(&mut self, unknown: State) {
        self.unknown = Some(unknown);
    }

    /// Whether what was read is enough for a verdict.
    pub(super) fn is_known(&self) -> bool {
        self.unknown.is_none()
    }

    pub(super) fn recovery_evidence(
        &self,
        condition: &'static str,
        subject: &str,
        seen_before: Timestamp,
    ) -> Option<RecoveryEvidence> {
        let (reason, evidence) = self.recovery.clone()?;
        Some(RecoveryEvidence {
            condition: Name::fixed(condition),
            reason: Some(Name::fixed(reason)),
            subject: subject.to_owned(),
            seen_before,
            evidence,
        })
    }

    /// A fault is one whatever else cannot be read.
    pub(super) fn state(self) -> State {
        if !self.faults.is_empty() {
            return State::Faulty(self.faults);
        }
        if let Some(unknown) = self.unknown {
            return unknown;
        }
        if !self.notes.is_empty() {
            return State::healthy("DiskUnhealthy/healthy-figures", &[("figures", &self.notes.join(", "))]);
        }
        self.healthy.unwrap_or_else(|| State::healthy("DiskUnhealthy/healthy", &[]))
    }
}

/// `SAMSUNG MZQL23T8HCLS, serial number S64HNE0R500012`, as far as it is known.
fn label(identity: &Identity) -> String {
    match (identity.model.as_str(), identity.serial.as_str()) {
        ("", "") => "model unknown".to_owned(),
        (model, "") => model.to_owned(),
        ("", serial) => format!("serial number {serial}"),
        (model, serial) => format!("{model}, serial number {serial}"),
    }
}
