//! Debian's fence agents against simulated BMCs, over IPMI, Redfish and SNMP.
#![allow(clippy::unwrap_used)]

mod bench;
mod examples;
mod fake;
mod ipmi;
mod pdu;
mod real;
mod sushy;

fn main() -> std::process::ExitCode {
    real::main(&[
        ("bmc/ipmi", ipmi::CASES, nodewell_bmc::missing()),
        ("bmc/pdu", pdu::CASES, nodewell_bmc::missing().or_else(nodewell_bmc::missing_pdu)),
        ("bmc/redfish", sushy::CASES, nodewell_bmc::missing_redfish()),
    ])
}
