//! Judges one tunnel: whether what it takes fits into the link that carries it.

use std::time::Duration;

use crate::probe::{
    Fault, State,
    debounce::{Debounce, DebounceTimes},
};
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use crate::network::reading::TunnelReading;

/// What VXLAN adds at least (RFC 7348): Ethernet 14, IPv4 20, UDP 8, its own 8; over IPv6 20 more.
const OVERHEAD: u32 = 50;

/// One tunnel.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tunnel {
    too_large: Debounce,
    #[serde(skip)]
    reading: TunnelReading,
}

impl Tunnel {
    pub(super) fn take(&mut self, reading: TunnelReading, now: Duration, for_duration: Duration) {
        let is_too_large = reading.mtu.saturating_add(OVERHEAD) > reading.lower_mtu;
        self.too_large.observe(is_too_large, now, DebounceTimes { for_duration, keep_firing_for: for_duration });
        self.reading = reading;
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        let TunnelReading { mtu, lower, lower_mtu } = &self.reading;
        let args: MessageArgs<'_> =
            &[("mtu", mtu), ("overhead", &OVERHEAD), ("lower", lower), ("lower_mtu", lower_mtu)];
        self.too_large.holds().then(|| Fault::of("MtuMismatch", args))
    }

    pub(super) fn healthy(&self) -> State {
        let TunnelReading { mtu, lower, lower_mtu } = &self.reading;
        let args: MessageArgs<'_> = &[("mtu", mtu), ("lower", lower), ("lower_mtu", lower_mtu)];
        State::healthy("NetworkUnhealthy/healthy-tunnel", args)
    }
}
