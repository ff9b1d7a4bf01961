//! Judges whether a device is still there: on the bus's list, and answering.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::probe::{
    Fault,
    debounce::{Debounce, DebounceTimes},
};

/// Firmware updates of network cards take their device off the bus and bring it back, within a minute or two.
const VANISHED: DebounceTimes =
    DebounceTimes { for_duration: Duration::from_secs(120), keep_firing_for: Duration::ZERO };
/// A device that is being reset answers again within a second or two (PCI Express Base Specification 6.6.1).
const MUTE: DebounceTimes = DebounceTimes { for_duration: Duration::from_secs(30), keep_firing_for: Duration::ZERO };

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Presence {
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    vanished: Debounce,
    #[serde(default, skip_serializing_if = "Debounce::is_nothing")]
    mute: Debounce,
    #[serde(skip)]
    is_listed: bool,
    /// By the latest reading, however long.
    #[serde(skip)]
    answers: Option<bool>,
}

impl Presence {
    pub(crate) fn listed(&mut self, is_listed: bool, now: Duration) {
        self.is_listed = is_listed;
        self.vanished.observe(!is_listed, now, VANISHED);
    }

    pub(crate) fn answered(&mut self, is_mute: bool, now: Duration) {
        self.answers = Some(!is_mute);
        self.mute.observe(is_mute, now, MUTE);
    }

    /// Whether what is below it cannot answer either.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_listed && self.answers == Some(false)
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.is_listed
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.vanished.holds()
    }

    pub(crate) fn is_mute(&self) -> bool {
        self.mute.holds()
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.vanished.is_nothing() && self.mute.is_nothing()
    }

    pub(crate) fn fault(&self, device: &str) -> Option<Fault> {
        if self.is_gone() {
            return Some(Fault::of("PcieDeviceVanished", &[("device", &device)]));
        }
        self.is_mute().then(|| Fault::of("PcieDeviceNotResponding", &[("device", &device)]))
    }
}
