//! Answers of BMCs to the controller's own questions: IPMI as `ipmitool` prints it, and Redfish.

use nodewell_remediation::{method::guid_of, snapshot::PowerState};
use serde_json::Value;

use crate::identity::{Answer, ipmi_answer, redfish_answer};

/// Get Chassis Status has a byte more where the front panel can be locked.
const CHASSIS_BYTES: [usize; 2] = [3, 4];

/// The first byte chooses the protocol. On and Off are read only where the BMC says so in so many words, beside a GUID
/// of its own; all else is Unknown, or no answer.
pub fn bmc(input: &[u8]) {
    let Some((protocol, answer)) = input.split_first() else { return };
    if protocol % 2 == 0 { ipmi(&String::from_utf8_lossy(answer)) } else { redfish(answer) }
}

fn ipmi(printed: &str) {
    let Some(Answer { uuid, power }) = ipmi_answer(printed) else { return };
    assert_eq!(uuid.len(), 32, "{uuid}");
    assert!(guid_of(&uuid).is_some() || uuid.as_bytes().chunks(2).all(|byte| *byte == uuid.as_bytes()[..2]), "{uuid}");
    let bytes = |line: &str| line.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let mut chassis = printed.lines().filter_map(bytes).filter(|of: &Vec<u8>| CHASSIS_BYTES.contains(&of.len()));
    let is_on = |of: Vec<u8>| of[0] % 2 == 1;
    match power {
        PowerState::On => assert!(chassis.any(is_on), "{printed:?}"),
        PowerState::Off => assert!(chassis.any(|of| !is_on(of)), "{printed:?}"),
        PowerState::Unknown => {}
    }
}

fn redfish(body: &[u8]) {
    let Ok(Answer { uuid, power }) = redfish_answer(body) else { return };
    // What is not asked for is passed over, also where it is no text.
    let Ok(system) = serde_json::from_slice::<Value>(body) else { return };
    assert_eq!(uuid, system["UUID"].as_str().unwrap_or_default());
    let expected = match system["PowerState"].as_str() {
        Some("On") => PowerState::On,
        Some("Off") => PowerState::Off,
        _ => PowerState::Unknown,
    };
    assert_eq!(power, expected);
}
