//! What a question to a BMC costs the controller's host, by the controller itself and by a fence agent: 3,000 BMCs that are asked
//! once in ten minutes are five a second.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use nix::sys::{
    resource::{Usage, UsageWho, getrusage},
    time::TimeValLike,
};
use nodewell_bmc::{Bmc, Manner, PASSWORD, Redfish};
use nodewell_power::{
    agent::{Agents, Options},
    identity::{Login, Unanswered, Whose, prove},
    runner::Runner,
    supervisor::boottime_millis,
};
use nodewell_remediation::{
    facts::Node,
    method::{AgentAction, IdentityMethod, Pins, ValidatedMethod},
    snapshot::PowerState,
    time::Moment,
};
use tokio::runtime::Runtime;

use crate::{
    programs,
    setting::Setting,
    table::{Row, Unit},
};

const UUID: &str = "a1234567-89ab-4def-a123-456789abcdef";
const GUID: &str = "a123456789ab4defa123456789abcdef";
const BMCS: f64 = 3000.0;
const ROUND_SECS: f64 = 600.0;

/// A BMC and who asks it.
struct Case {
    name: &'static str,
    agent: &'static str,
    options: Options,
    is_native: bool,
    times: usize,
}

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    const MEASURE: &str = "a BMC is asked for its power: CPU";
    if let Some(reason) = nodewell_bmc::missing().or_else(nodewell_bmc::missing_redfish) {
        return vec![Row::not_run(MEASURE, reason)];
    }
    let (Ok(ipmi), Ok(redfish)) = (Bmc::start(GUID, Manner::Obeys), Redfish::start(&[UUID])) else {
        return vec![Row::not_run(MEASURE, "a simulated BMC does not start")];
    };
    let (ipmi_options, redfish_options) =
        (options(&ipmi.options()), options(&(redfish.options(UUID) + "ssl_insecure=1")));
    let case = |name, agent, options: &Options, is_native| Case {
        name,
        agent,
        options: options.clone(),
        is_native,
        times: setting.times(if is_native { 100 } else { 30 }, 10),
    };
    let cases = [
        case("Redfish over TLS, by the controller", "fence_redfish", &redfish_options, true),
        case("Redfish, by fence_redfish", "fence_redfish", &redfish_options, false),
        case("IPMI, by the controller with ipmitool", "fence_ipmilan", &ipmi_options, true),
        case("IPMI, by fence_ipmilan", "fence_ipmilan", &ipmi_options, false),
    ];
    let runtime = Runtime::new().expect("a runtime");
    cases.iter().flat_map(|case| runtime.block_on(measured(case))).collect()
}

/// CPU of this process and of all that it started and waited for: supervisors, Python, ipmitool.
async fn measured(case: &Case) -> [Row; 2] {
    let clock = || Moment(Duration::from_millis(boottime_millis()));
    let controller = programs::path("nodewell-controller");
    let runner = Runner::new(controller, vec!["supervise-agent".to_owned()], Arc::new(clock));
    let agents = Agents::new(PathBuf::from("/usr/sbin"), runner.clone());
    let (node, call) = (Node::default(), call(case.agent));
    let pins = Pins { system_uuid: Some(UUID.into()), ..Pins::default() };
    let before = cpu();
    for _ in 0..case.times {
        let state = if case.is_native {
            let whose = Whose { node: &node, pins: &pins };
            let login = Login { options: &case.options, unanswered: &Unanswered::default() };
            prove(&call, login, whose, &runner).await.expect("the BMC is the node's")
        } else {
            agents.status(&call, &case.options).await.state
        };
        assert_eq!(state, PowerState::On);
    }
    let each = (cpu() - before).as_secs_f64() / case.times as f64;
    let share = each * BMCS / ROUND_SECS * 100.0;
    [
        Row::new(format!("a BMC is asked for its power: {}: CPU", case.name), each * 1000.0, Unit::Millis)
            .beside(format!("n = {}", case.times)),
        Row::new("  3,000 of them in 10 min, of a core", share, Unit::Percent),
    ]
}

fn cpu() -> Duration {
    let of = |usage: Usage| usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    let all = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(|who| of(getrusage(who).expect("own usage")));
    Duration::from_micros(all.iter().sum::<i64>().unsigned_abs())
}

fn options(lines: &str) -> Options {
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    let mut values: BTreeMap<String, String> =
        pairs.map(|(name, value)| (name.replace('-', "_"), value.to_owned())).collect();
    values.insert("password".to_owned(), PASSWORD.to_owned());
    Options { values, secrets: vec![PASSWORD.to_owned()] }
}

fn call(agent: &str) -> ValidatedMethod {
    ValidatedMethod {
        name: "bmc".into(),
        agent: agent.into(),
        options: BTreeMap::new(),
        secret: String::new(),
        secret_needed: false,
        needed: [].into(),
        secret_keys: BTreeMap::new(),
        identity_method: IdentityMethod::Asked,
        from_label: [].into(),
        storage: None,
        actions: [AgentAction::Status].into(),
        longest: Duration::from_secs(60),
    }
}
