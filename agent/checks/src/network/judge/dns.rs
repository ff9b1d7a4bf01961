//! Judges the resolver by rounds without any answer.

use crate::probe::{Fault, State, growth::rounded};
use serde::{Deserialize, Serialize};

use crate::network::reading::NamesReading;

/// Answers in a row that end it: one may come out of a cache.
const ENOUGH: u32 = 2;

/// What is known of it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Dns {
    is_unreachable: bool,
    /// Rounds in a row that showed the opposite.
    contrary: u32,
    #[serde(skip)]
    serial: u64,
    #[serde(skip)]
    last: Option<NamesReading>,
}

impl Dns {
    pub(super) fn take(&mut self, reading: NamesReading, failures: u32) {
        // Nothing new; zero: nothing is known yet.
        if reading.serial == self.serial {
            return;
        }
        self.serial = reading.serial;
        self.observe(reading.error.is_some(), failures);
        self.last = Some(reading);
    }

    /// The worker itself came to no end.
    pub(super) fn take_no_answer(&mut self, failures: u32) {
        self.observe(true, failures);
        self.last = None;
    }

    fn observe(&mut self, has_failed: bool, failures: u32) {
        if has_failed == self.is_unreachable {
            self.contrary = 0;
            return;
        }
        self.contrary = self.contrary.saturating_add(1);
        if self.contrary >= if has_failed { failures } else { ENOUGH } {
            (self.is_unreachable, self.contrary) = (has_failed, 0);
        }
    }

    pub(super) fn fault(&self, failures: u32) -> Option<Fault> {
        let fault = || match &self.last {
            Some(NamesReading { name, error: Some(error), .. }) => {
                Fault::of("DnsUnreachable", &[("name", name), ("error", error), ("limit", &failures)])
            }
            Some(NamesReading { name, .. }) => Fault::of("DnsUnreachable/once", &[("name", name), ("limit", &ENOUGH)]),
            None => Fault::of("DnsUnreachable/no-answer", &[("limit", &failures)]),
        };
        self.is_unreachable.then(fault)
    }

    pub(super) fn healthy(&self, failures: u32) -> State {
        match &self.last {
            Some(NamesReading { name, error: None, millis, .. }) => {
                State::healthy("NetworkUnhealthy/healthy-dns", &[("name", name), ("time", &time(*millis))])
            }
            Some(NamesReading { name, .. }) => {
                State::healthy("NetworkUnhealthy/healthy-dns-failed", &[("name", name), ("limit", &failures)])
            }
            None => State::healthy("NetworkUnhealthy/healthy-dns-pending", &[]),
        }
    }
}

/// One that does not change with every answer.
fn time(millis: u64) -> String {
    match millis {
        0..100 => "100 ms or less".to_owned(),
        100..1_000 => "1 s or less".to_owned(),
        _ => format!("{} s or more", rounded(millis) / 1_000),
    }
}
