//! Get System GUID (IPMI 2.0 §22.14, command 0x37 of the application function) and Get Chassis Status (§28.2, command 0x01 of the
//! chassis function), by `ipmitool` in one session.

use std::{collections::BTreeMap, ops::RangeInclusive, path::PathBuf, time::Duration};

use nodewell_remediation::snapshot::PowerState;

use super::{Answer, AskError, Login, listens};
use crate::{
    agent::Options,
    program,
    runner::{Run, Runner},
    scrub::scrub,
    supervisor::Ending,
};

/// As Debian and RHEL have it.
pub const IPMITOOL: &str = "/usr/bin/ipmitool";
/// A closed port is 20 s with the tool's own retries; one more is of no use.
const DEADLINE: Duration = Duration::from_secs(25);
const OUTPUT_BYTES: usize = 4096;
/// Raw bytes: `mc guid` shows them in an order that it guesses. Each line is a command of the one session.
const QUESTIONS: &str = "raw 0x06 0x37\nraw 0x00 0x01\n";
const GUID_BYTES: usize = 16;
/// Get Chassis Status has three, and a fourth one where the front panel can be locked.
const CHASSIS_BYTES: RangeInclusive<usize> = 3..=4;
/// Of its first byte.
const POWER_IS_ON: u8 = 1;
const NO_SESSION: &str = "Unable to establish";
/// Agents that speak LAN+ without an option for it.
const LANPLUS: [&str; 4] = ["fence_ipmilanplus", "fence_ilo3", "fence_ilo4", "fence_ilo5"];

/// The 16 bytes of the GUID as hex digits in the order in which they came, and the power.
pub(super) async fn ask(login: Login<'_>, agent: &str, runner: &Runner) -> Result<Answer, AskError> {
    let Login { options, unanswered } = login;
    let program = PathBuf::from(IPMITOOL);
    program::check(&program)
        .map_err(|refused| format!("ipmitool is not run: {refused}; install the package ipmitool"))?;
    let run = Run {
        program,
        args: arguments(options, agent)?,
        // Never in an argument, which all processes of a host may read.
        env: options
            .values
            .get("password")
            .map(|password| ("IPMI_PASSWORD".to_owned(), password.clone()))
            .into_iter()
            .collect(),
        stdin: QUESTIONS.to_owned(),
        deadline: DEADLINE,
        limit_bytes: OUTPUT_BYTES,
    };
    let report = tokio::select! {
        biased;
        report = runner.run(run, None) => report.map_err(|error| error.to_string())?,
        never = listens::note_sent(options, unanswered) => match never {},
    };
    let printed = format!("{}\n{}", report.stdout, report.stderr);
    if matches!(report.ending, Ending::Exited(_)) && is_decided(&printed) {
        unanswered.answered();
    }
    // The tool goes on after a question that was not answered, and ends with 1.
    if let (Some(answer), Ending::Exited(_)) = (answer(&report.stdout), &report.ending) {
        return Ok(answer);
    }
    let output = scrub(&printed, report.cut, &options.secrets);
    let advice = advice(&output);
    let why = format!("ipmitool does not bring the BMC's GUID ({:?}): {output}{advice}", report.ending);
    Err(AskError { why, is_login_refused: is_refused(&output) })
}

/// Answers are lines of hex digits, in the order of the questions; a GUID is one line of the tool's.
pub(crate) fn answer(printed: &str) -> Option<Answer> {
    let mut answers = printed.lines().filter_map(bytes);
    let guid = answers.next().filter(|guid| guid.len() == GUID_BYTES)?;
    let power = match answers.next().filter(|chassis| CHASSIS_BYTES.contains(&chassis.len())) {
        Some(chassis) if chassis[0] & POWER_IS_ON != 0 => PowerState::On,
        Some(_) => PowerState::Off,
        None => PowerState::Unknown,
    };
    Some(Answer { uuid: guid.iter().map(|byte| format!("{byte:02x}")).collect(), power })
}

fn bytes(line: &str) -> Option<Vec<u8>> {
    let parts = line.split_whitespace().map(|part| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2));
    parts.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

/// What the tool prints of an account that the BMC does not take: never that the password is wrong.
fn is_refused(output: &str) -> bool {
    const REFUSED: [&str; 6] =
        ["RAKP 2", "RAKP 4", "HMAC is invalid", "nvalid user name", "unauthorized name", "ctivate Session"];
    REFUSED.iter().any(|part| output.contains(part))
}

/// The BMC took the account or refused it. Some drop a login that they do not take: the tool gives up by itself then.
fn is_decided(output: &str) -> bool {
    is_refused(output) || !output.contains(NO_SESSION)
}

fn advice(output: &str) -> &'static str {
    if is_refused(output) {
        "; the BMC does not take the account: look at username, and at the password in the method's Secret"
    } else if output.contains(NO_SESSION) {
        "; the BMC is not reached, or its password was changed: look at ip, and at the password in the method's Secret"
    } else {
        ""
    }
}

fn arguments(options: &Options, agent: &str) -> Result<Vec<String>, String> {
    let given = |name: &str| options.values.get(name).map(String::as_str);
    if let Some(name) = ["target", "hexadecimal_kg"].into_iter().find(|name| given(name).is_some()) {
        return Err(format!("a BMC with the option {name} cannot be asked who it is yet; write identity=configured"));
    }
    let is_plus = LANPLUS.contains(&agent) || given("lanplus").is_some_and(super::is_true);
    let address = given("ip").ok_or("the option ip is missing")?;
    // Only with -v it reports that an account was refused, and not only that there is no session.
    let mut arguments = vec!["-v", "-I", if is_plus { "lanplus" } else { "lan" }, "-H", address];
    let flags: BTreeMap<&str, &str> =
        BTreeMap::from([("ipport", "-p"), ("username", "-U"), ("cipher", "-C"), ("auth", "-A"), ("privlvl", "-L")]);
    for (name, flag) in flags {
        if let Some(value) = given(name) {
            arguments.extend([flag, value]);
        }
    }
    if given("password").is_some() {
        arguments.push("-E");
    }
    arguments.extend(["exec", "/dev/stdin"]);
    Ok(arguments.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_known_by_its_length() {
        let guid = " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd ef";
        let of = |text: &str| answer(text).map(|answer| (answer.uuid, answer.power));
        let uuid = || "a123456789abcdefa123456789abcdef".to_owned();
        for (chassis, power) in [
            (" 01 00 00", PowerState::On),
            (" 61 10 40 54", PowerState::On),
            (" 60 10 40 54", PowerState::Off),
            ("", PowerState::Unknown),
            (" 01", PowerState::Unknown),
            (" 01 00 00 00 00", PowerState::Unknown),
        ] {
            assert_eq!(of(&format!("Running Get\n{guid}\n{chassis}\n")), Some((uuid(), power)), "{chassis}");
        }
        for text in ["", " 01 00 00\n", " a1 23\n 01 00 00\n", "no bytes\n"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn an_account_that_is_refused_leads_to_the_secret() {
        for refused in [
            "Error: RAKP 2 HMAC is invalid",
            "RAKP 2 message indicates an error : unauthorized name",
            "Invalid user name",
            "Activate Session command failed",
        ] {
            assert!(advice(refused).contains("the password in the method's Secret"), "{refused}");
        }
        let unclear = advice("Error: Unable to establish IPMI v2 / RMCP+ session");
        assert!(unclear.contains("is not reached, or its password was changed"), "{unclear}");
        assert_eq!(advice("Unable to send RAW command (netfn=0x6 cmd=0x37)"), "");
    }

    #[test]
    fn a_login_that_the_bmc_drops_is_not_decided() {
        for (output, expected) in [
            ("Error: Unable to establish IPMI v2 / RMCP+ session", false),
            ("Error in open session response message\nError: Unable to establish IPMI v2 / RMCP+ session", false),
            ("RAKP 2 HMAC is invalid\nError: Unable to establish IPMI v2 / RMCP+ session", true),
            ("Activate Session error: Invalid user name\nError: Unable to establish LAN session", true),
            ("Unable to send RAW command (netfn=0x6 cmd=0x37)", true),
            ("", true),
        ] {
            assert_eq!(is_decided(output), expected, "{output}");
        }
    }

    fn given(options: &[(&str, &str)]) -> Options {
        let values = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Options { values, secrets: Vec::new() }
    }

    #[test]
    fn a_bmc_is_asked_at_the_address_and_by_the_account_of_its_agent() {
        let asked = |options: &[(&str, &str)], agent| arguments(&given(options), agent).map(|all| all.join(" "));
        for (options, agent, expected) in [
            (&[("ip", "10.0.0.9")][..], "fence_ipmilan", "-v -I lan -H 10.0.0.9 exec /dev/stdin"),
            (&[("ip", "10.0.0.9"), ("lanplus", "1")], "fence_ipmilan", "-v -I lanplus -H 10.0.0.9 exec /dev/stdin"),
            (&[("ip", "10.0.0.9"), ("lanplus", "0")], "fence_ipmilan", "-v -I lan -H 10.0.0.9 exec /dev/stdin"),
            (&[("ip", "10.0.0.9")], "fence_idrac", "-v -I lan -H 10.0.0.9 exec /dev/stdin"),
            (
                &[("ip", "10.0.0.9"), ("ipport", "624"), ("username", "fence"), ("password", "word-1234")],
                "fence_ilo4",
                "-v -I lanplus -H 10.0.0.9 -p 624 -U fence -E exec /dev/stdin",
            ),
        ] {
            assert_eq!(asked(options, agent).as_deref(), Ok(expected), "{options:?} {agent}");
        }
        for options in [&[][..], &[("ip", "10.0.0.9"), ("target", "0x20")], &[("ip", "1"), ("hexadecimal_kg", "00")]] {
            assert!(asked(options, "fence_ipmilan").is_err(), "{options:?}");
        }
    }
}
