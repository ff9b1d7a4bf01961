//! Debian's fence agents against simulated BMCs, over IPMI and over Redfish.
#![allow(clippy::unwrap_used)]

mod bench;
mod examples;
mod fake;
mod ipmi;
mod real;
mod sushy;

fn main() -> std::process::ExitCode {
    real::main(&[
        ("bmc/ipmi", ipmi::CASES, nodewell_bmc::missing()),
        ("bmc/redfish", sushy::CASES, nodewell_bmc::missing_redfish()),
    ])
}
