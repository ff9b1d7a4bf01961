//! Get System GUID (IPMI 2.0 §22.14, command 0x37 of the application function) by `ipmitool`.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use super::AskError;
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
/// Raw bytes: `mc guid` shows them in an order that it guesses.
const GET_SYSTEM_GUID: [&str; 3] = ["raw", "0x06", "0x37"];
/// Agents that speak LAN+ without an option for it.
const LANPLUS: [&str; 4] = ["fence_ipmilanplus", "fence_ilo3", "fence_ilo4", "fence_ilo5"];

/// The 16 bytes that the BMC reports, as hex digits in the order in which they came.
pub(super) async fn guid(options: &Options, agent: &str, runner: &Runner) -> Result<String, AskError> {
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
        stdin: String::new(),
        deadline: DEADLINE,
        limit_bytes: OUTPUT_BYTES,
    };
    let report = runner.run(run, None).await.map_err(|error| error.to_string())?;
    if report.ending == Ending::Exited(0) {
        return Ok(report.stdout);
    }
    let output = scrub(&format!("{}\n{}", report.stdout, report.stderr), report.cut, &options.secrets);
    let advice = advice(&output);
    let why = format!("ipmitool does not bring the BMC's GUID ({:?}): {output}{advice}", report.ending);
    Err(AskError { why, is_login_refused: is_refused(&output) })
}

/// What the tool prints of an account that the BMC does not take: never that the password is wrong.
fn is_refused(output: &str) -> bool {
    const REFUSED: [&str; 6] =
        ["RAKP 2", "RAKP 4", "HMAC is invalid", "nvalid user name", "unauthorized name", "ctivate Session"];
    REFUSED.iter().any(|part| output.contains(part))
}

fn advice(output: &str) -> &'static str {
    const NO_SESSION: &str = "Unable to establish";
    if is_refused(output) {
        "; the BMC does not take the account: look at username, and at the password in the method's Secret"
    } else if output.contains(NO_SESSION) {
        "; the BMC is not reached, or its password was changed: look at the password in the method's Secret"
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
    let mut arguments = vec!["-I", if is_plus { "lanplus" } else { "lan" }, "-H", address];
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
    arguments.extend(GET_SYSTEM_GUID);
    Ok(arguments.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::advice;

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
}
