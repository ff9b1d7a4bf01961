//! Puts what is remembered of all devices into verdicts and numbers.

use std::collections::BTreeMap;

use nodewell_model::Hardware;

use super::{Device, Fault, Findings, Name, PcieJudge, PollError, State, Verdict};
use crate::probe::unknown;

impl PcieJudge {
    pub(super) fn account(&mut self) -> Findings {
        let verdicts: Vec<Verdict> = self.subjects().iter().filter_map(|address| self.verdict(address)).collect();
        let hardware = if verdicts.is_empty() { Vec::new() } else { vec![self.hardware(&verdicts)] };
        Findings { verdicts, hardware, ..Findings::default() }
    }

    /// The devices that are there or missed; of a branch of the tree that vanished, its root.
    fn subjects(&self) -> Vec<String> {
        let devices = &self.history.devices;
        let is_gone = |address: &String| devices.get(address).is_some_and(|device| device.presence.is_gone());
        let is_first = |address: &String| {
            address
                .rsplit_once('.')
                .is_none_or(|(device, function)| function == "0" || !is_gone(&format!("{device}.0")))
        };
        let is_root = |address: &String, device: &Device| !device.above.iter().any(is_gone) && is_first(address);
        let is_reported = |address: &String, device: &Device| {
            if device.presence.is_listed() { device.is_known() } else { is_gone(address) && is_root(address, device) }
        };
        devices
            .iter()
            .filter(|(address, device)| is_reported(address, device))
            .map(|(address, _)| address.clone())
            .collect()
    }

    fn verdict(&mut self, address: &str) -> Option<Verdict> {
        let (listing, per_hour) = (self.listing.clone(), self.settings.corrected_per_hour);
        let mute_above = self.mute_above(address);
        let device = self.history.devices.get_mut(address)?;
        let state = match mute_above {
            Some(port) if listing.is_none() => State::not_answering("DeviceNotAnswering/pcie", &[("port", &port)]),
            _ => device.state(listing.as_ref(), per_hour),
        };
        Some(Verdict { condition: Name::fixed("PcieUnhealthy"), subject: address.to_owned(), state })
    }

    /// Of a branch that answers with all ones the highest port is at fault, of a card with several functions the first: what
    /// is behind it cannot be asked.
    fn mute_above(&self, address: &str) -> Option<String> {
        let is_silent = |address: &String| self.history.devices.get(address).is_some_and(|at| at.presence.is_silent());
        let device = self.history.devices.get(address).filter(|device| device.presence.is_silent())?;
        let first = address.rsplit_once('.').map(|(card, _)| format!("{card}.0"));
        let ways = device.above.iter().rev().cloned().chain(first);
        ways.take_while(|way| way != address).find(is_silent)
    }

    fn hardware(&self, verdicts: &[Verdict]) -> Hardware {
        let mut states = BTreeMap::new();
        for verdict in verdicts {
            let device = self.history.devices.get(&verdict.subject);
            if let Some(state_name) = device.and_then(|device| device.state_name(&verdict.state)) {
                *states.entry(state_name.to_owned()).or_default() += 1;
            }
        }
        Hardware {
            class: "PCIe devices".to_owned(),
            total: u32::try_from(verdicts.len()).unwrap_or(u32::MAX),
            states,
            ..Hardware::default()
        }
    }
}

impl Device {
    /// Whether there is something to report: it has been read once, or there is a reason why it has not.
    fn is_known(&self) -> bool {
        !self.id.is_empty() || self.poll_error.is_some()
    }

    fn state(&mut self, listing: Option<&PollError>, corrected_per_hour: u32) -> State {
        let poll_error = if self.presence.is_gone() { None } else { listing.or(self.poll_error.as_ref()) };
        if let Some(poll_error) = poll_error {
            return unknown(poll_error);
        }
        let faults = self.faults(corrected_per_hour);
        if faults.is_empty() { self.healthy() } else { State::Faulty(faults) }
    }

    fn faults(&mut self, corrected_per_hour: u32) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.presence.fault(&self.description()).into_iter().collect();
        faults.extend(self.errors.faults(corrected_per_hour));
        if !self.presence.is_gone() {
            faults.extend(self.link.faults(&self.description()));
        }
        if self.untraced.holds() && !self.errors.has_fatal() {
            faults.push(Fault::of("PcieAerFatal/root", &[]));
        }
        faults
    }

    /// `15b3:101b (mlx5_core)`; before it what is printed on the device, where its driver shows that.
    fn description(&self) -> String {
        let reading = self.reading.as_ref();
        let id = match reading.and_then(|reading| reading.driver.as_deref()) {
            Some(driver) => format!("{} ({driver})", self.id),
            None => self.id.clone(),
        };
        match reading.and_then(|reading| reading.model.as_deref()) {
            Some(model) => format!("{model}, {id}"),
            None => id,
        }
    }

    fn healthy(&self) -> State {
        let device = self.description();
        match self.link.width() {
            Some(width) => State::healthy("PcieUnhealthy/healthy-link", &[("device", &device), ("width", &width)]),
            None => State::healthy("PcieUnhealthy/healthy", &[("device", &device)]),
        }
    }

    /// For the count.
    fn state_name(&self, state: &State) -> Option<&'static str> {
        match state {
            State::Healthy { .. } => None,
            State::Unknown { .. } => Some("not answering"),
            State::Faulty(_) if self.presence.is_gone() => Some("gone"),
            State::Faulty(_) if self.presence.is_mute() => Some("not answering"),
            State::Faulty(_) => Some("failing"),
        }
    }
}
