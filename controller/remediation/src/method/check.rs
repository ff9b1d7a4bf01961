//! A node's methods against the metadata of their agents. Agents only warn of an option they do not know, and do without
//! it; here it refuses the configuration.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    AgentAction, BuiltIn, ClusterSettings, FenceAgent, IdentityMethod, Method, MethodDiagnostics, NodeMethods,
    ParameterKind, RequestedAction, SourcedValue, ValidatedMethod, ValidatedMethods, check_value, forbidden, plugs,
    suggestions,
};

/// What `fencing.py` waits for the power to change, if the metadata does not give it.
const POWER_TIMEOUT_SECS: u64 = 20;
/// What an agent takes for its logins beside waiting for the power.
const LOGIN_SECS: u64 = 10;
/// Longer waits are refused.
const POWER_TIMEOUT_LIMIT_SECS: u64 = 600;
const REDFISH: &str = "fence_redfish";

/// Checks all methods of `found`; `agents` has the metadata of each agent by name, or why there is none.
///
/// # Errors
/// Everything that is wrong.
pub fn check(
    found: &NodeMethods,
    agents: &BTreeMap<String, Result<FenceAgent, String>>,
) -> Result<ValidatedMethods, MethodDiagnostics> {
    let mut checker = Checker { found, agents, diagnostics: Vec::new(), notes: Vec::new() };
    let calls = found.methods.values().filter_map(|method| checker.call(method)).collect::<Vec<_>>();
    checker.built_ins();
    checker.further_levels(&calls);
    let storage_only = checker.storage(&calls);
    checker.without_effect();
    let Checker { diagnostics, notes, .. } = checker;
    if !diagnostics.is_empty() {
        return Err(MethodDiagnostics(diagnostics));
    }
    let is_real = |name: &&String| BuiltIn::named(name) != Some(BuiltIn::RestartInstance);
    let levels = found.levels().map(|level| level.iter().filter(is_real).cloned().collect());
    Ok(ValidatedMethods {
        node: found.node.clone(),
        isolation: found.isolation.clone(),
        levels: levels.collect(),
        recovery: found.recovery.clone(),
        calls: calls.into_iter().map(|call| (call.name.clone(), call)).collect(),
        storage_only,
        pins: found.pins.clone(),
        notes,
    })
}

/// Every name of an option that may come from the Secret, with the option's preferred name.
fn secret_keys(name: &str, agent: &FenceAgent) -> BTreeMap<String, String> {
    let allowed = agent.names.iter().filter(|(_, alias)| forbidden::may_be_secret(name, &alias.to));
    allowed.map(|(name, alias)| (name.clone(), alias.to.clone())).collect()
}

/// Options whose values a label of the node chose: any client that may set it chooses them, the kubelet too.
fn from_label(method: &Method, agent: &FenceAgent) -> BTreeSet<String> {
    let by_label = method.options.iter().filter(|(_, written)| !written.of_node);
    by_label.filter_map(|(name, _)| agent.find(name)).map(|(alias, _)| alias.to.clone()).collect()
}

struct Checker<'a> {
    found: &'a NodeMethods,
    agents: &'a BTreeMap<String, Result<FenceAgent, String>>,
    diagnostics: Vec<String>,
    notes: Vec<String>,
}

impl Checker<'_> {
    fn call(&mut self, method: &Method) -> Option<ValidatedMethod> {
        let agent = match self.agents.get(&method.agent) {
            Some(Ok(agent)) => agent,
            Some(Err(why)) => {
                let text = "correct agent_name, or install the package that has it on this host";
                return self.wrong(method, &format!("{}: {why}; {text}", method.agent));
            }
            None => return self.wrong(method, &format!("{} was not asked for its options", method.agent)),
        };
        if forbidden::proves_nothing(&method.agent) {
            return self.wrong(method, &format!("{} proves nothing about a node's power", method.agent));
        }
        if agent.takes_missing_for_off() {
            let text = "takes a machine that it does not find for one that is off, whatever its options say";
            return self.wrong(method, &format!("{} {text}; it can confirm nothing", method.agent));
        }
        let before = self.diagnostics.len();
        let options = self.options(method, agent);
        let actions = self.actions(method, agent);
        let needed = self.needed(method, agent, &options);
        let longest = self.longest(method, agent, &options);
        (self.diagnostics.len() == before).then(|| ValidatedMethod {
            name: method.name.clone(),
            agent: method.agent.clone(),
            options,
            secret: method.secret.clone(),
            secret_needed: method.secret_needed,
            needed,
            secret_keys: secret_keys(&method.agent, agent),
            identity_method: method.identity_method.clone(),
            from_label: from_label(method, agent),
            storage: method.storage.clone(),
            actions,
            longest,
        })
    }

    /// Settings of the proposal that are read and checked, and limit nothing here: an operator who relies on them has to
    /// know.
    fn without_effect(&mut self) {
        let (given, default) = (&self.found.cluster, ClusterSettings::default());
        let mut unused = Vec::new();
        if given.grace_timeout != default.grace_timeout {
            unused.push("grace_timeout".to_owned());
        }
        if given.giveup_retries != default.giveup_retries {
            unused.push("giveup_retries".to_owned());
        }
        let limits = given.policies.iter().filter(|policy| policy.percentage.is_some());
        unused.extend(limits.map(|policy| format!("percentage of fence-policy-{}", policy.name)));
        if !unused.is_empty() {
            let text =
                format!("{} has no effect; limits are those of RemediationPolicies (spec.budget)", unused.join(", "));
            self.notes.push(format!("{}: {text}", super::cluster::CLUSTER));
        }
    }

    fn wrong<T>(&mut self, method: &Method, text: &str) -> Option<T> {
        self.diagnostics.push(format!("{}: method {}: {text}", method.at, method.name));
        None
    }

    /// The method's options by their preferred names, each value checked.
    fn options(&mut self, method: &Method, agent: &FenceAgent) -> BTreeMap<String, String> {
        let mut options = BTreeMap::new();
        for (name, SourcedValue { value, at, .. }) in &method.options {
            let Some((alias, parameter)) = agent.find(name) else {
                let near = suggestions::names(name, agent.parameters.keys().map(String::as_str), &method.agent);
                self.diagnostics.push(format!("{at}: {} has no option {name}; {near}", method.agent));
                continue;
            };
            if let Err(why) = check_option(&method.agent, &alias.to, &parameter.kind, value) {
                self.diagnostics.push(format!("{at}: {name} {why}"));
            }
            if alias.deprecated {
                self.notes.push(format!("{at}: {name} is deprecated; write {}", alias.to));
            }
            // Given to the agent, it would only make one machine look like two.
            if alias.to == "plug" && agent.plug_is_address {
                self.notes.push(format!("{at}: {name} says nothing to {}; leave it away", method.agent));
                continue;
            }
            if options.insert(alias.to.clone(), value.clone()).is_some() {
                self.diagnostics
                    .push(format!("{at}: {name} and another name of {} are both given; keep one", alias.to));
            }
        }
        options
    }

    /// Options without which the agent would not start. The Secret may still bring some of them.
    fn needed(&mut self, method: &Method, agent: &FenceAgent, options: &BTreeMap<String, String>) -> BTreeSet<String> {
        let required =
            agent.parameters.iter().filter(|(_, parameter)| parameter.required && parameter.default.is_none());
        let missing = required.map(|(name, _)| name).filter(|name| !options.contains_key(*name) && *name != "action");
        let (later, now): (Vec<_>, Vec<_>) = missing.partition(|name| forbidden::may_be_secret(&method.agent, name));
        for name in now {
            self.wrong::<()>(method, &format!("{} needs the option {name}", method.agent));
        }
        // By the metadata it might be given as plug, with port_as_ip.
        let may_lack = agent.parameters.get("ip").is_some_and(|ip| !ip.required);
        if agent.plug_is_address && may_lack && !options.contains_key("ip") {
            self.wrong::<()>(method, &format!("{} needs the option ip", method.agent));
        }
        if method.agent == REDFISH {
            self.redfish(method, options);
        }
        later.into_iter().cloned().collect()
    }

    fn redfish(&mut self, method: &Method, options: &BTreeMap<String, String>) {
        // A BMC with several systems: the agent would take the last.
        let path = options.get("systems_uri").map_or("", String::as_str);
        if !path.starts_with('/') {
            self.wrong::<()>(method, "fence_redfish needs systems_uri, a path such as /redfish/v1/Systems/1");
        }
        let address = options.get("ip").map_or("", String::as_str);
        if address.matches(':').count() == 1 {
            self.wrong::<()>(method, &format!("ip is {address}; write the port as ipport"));
        } else if address.contains(':') && !address.starts_with('[') {
            self.wrong::<()>(method, &format!("ip is {address}; fence_redfish needs it as [{address}]"));
        }
    }

    fn actions(&mut self, method: &Method, agent: &FenceAgent) -> BTreeSet<AgentAction> {
        let name = &method.name;
        let [isolation, recovery] = [&self.found.isolation, &self.found.recovery].map(|step| step.contains(name));
        let power = self.found.is_of_power(name);
        if [isolation, power, recovery].into_iter().filter(|step| *step).count() > 1 {
            self.wrong::<()>(method, "it is in more than one step; make one method for each");
        }
        let actions = match (method.action, isolation, recovery) {
            (Some(RequestedAction::On), ..) | (None, false, true) => BTreeSet::from([AgentAction::On]),
            (Some(RequestedAction::Off), ..) | (None, true, false) => BTreeSet::from([AgentAction::Off]),
            (Some(RequestedAction::Reboot), true, _) | (Some(RequestedAction::Reboot), _, true) => {
                self.wrong::<()>(method, "reboot is for power_management only");
                BTreeSet::new()
            }
            _ => BTreeSet::from([AgentAction::Off, AgentAction::On]),
        };
        let actions = if power { self.power(method, agent, actions) } else { actions };
        let missing = actions.iter().find(|action| !agent.actions.contains(action.name()));
        if let Some(action) = missing {
            self.wrong::<()>(method, &format!("{} cannot do {}", method.agent, action.name()));
        }
        actions
    }

    /// What turns off has to be asked whether it did.
    fn power(
        &mut self,
        method: &Method,
        agent: &FenceAgent,
        mut actions: BTreeSet<AgentAction>,
    ) -> BTreeSet<AgentAction> {
        if method.action == Some(RequestedAction::Off) && !self.has_other_for_on(method) {
            actions.insert(AgentAction::On);
        }
        // Only the node itself can let itself in again, once it was rebooted.
        if method.storage.is_some()
            && method.action != Some(RequestedAction::On)
            && !agent.actions.contains(AgentAction::On.name())
        {
            actions.remove(&AgentAction::On);
        }
        if actions.contains(&AgentAction::Off) {
            actions.insert(AgentAction::Status);
        }
        if !agent.actions.contains("reboot") && method.storage.is_none() {
            let text = format!("{} cuts off a storage or a network, not the power; add storage=DRIVER", method.agent);
            self.wrong::<()>(method, &text);
        }
        actions
    }

    /// The proposal's pairs of methods for a PDU: one with `action=off`, one with `action=on`.
    /// Each level of the method has one for on.
    fn has_other_for_on(&self, method: &Method) -> bool {
        let turns_on = |name: &String| {
            let other = self.found.methods.get(name).filter(|other| other.name != method.name);
            other.is_some_and(|other| other.action == Some(RequestedAction::On))
        };
        self.found.levels().filter(|level| level.contains(&method.name)).all(|level| level.iter().any(turns_on))
    }

    fn longest(&mut self, method: &Method, agent: &FenceAgent, options: &BTreeMap<String, String>) -> Duration {
        let seconds = |name: &str| {
            let given = options.get(name);
            let default = agent.parameters.get(name).and_then(|parameter| parameter.default.as_ref());
            given.or(default).and_then(|text| text.parse::<u64>().ok())
        };
        let power = seconds("power_timeout").unwrap_or(POWER_TIMEOUT_SECS);
        let waits = seconds("power_wait").unwrap_or(0).saturating_add(seconds("delay").unwrap_or(0));
        if power.saturating_add(waits) > POWER_TIMEOUT_LIMIT_SECS {
            let text =
                format!("power_timeout, power_wait and delay are more than {POWER_TIMEOUT_LIMIT_SECS} s together");
            self.wrong::<()>(method, &text);
            return Duration::ZERO;
        }
        Duration::from_secs(2 * power + waits + LOGIN_SECS)
    }

    fn built_ins(&mut self) {
        let found = self.found;
        let steps = [("isolation", &found.isolation), ("recovery", &found.recovery)];
        for (step, names) in steps {
            if names.iter().any(|name| BuiltIn::named(name) == Some(BuiltIn::RestartInstance)) {
                self.diagnostics.push(format!("{step}: restart-instance is for power_management only"));
            }
        }
        if found.isolation.iter().any(|name| BuiltIn::named(name) == Some(BuiltIn::Uncordon)) {
            self.diagnostics.push("isolation: uncordon is for recovery only".to_owned());
        }
    }

    /// Two levels of the same methods are one; and one of methods that only turn on proves nothing.
    fn further_levels(&mut self, calls: &[ValidatedMethod]) {
        let turns_off =
            |name: &String| calls.iter().any(|call| call.name == *name && call.actions.contains(&AgentAction::Off));
        for (level, number) in self.found.further_levels.iter().zip(2..) {
            let known = level.iter().all(|name| calls.iter().any(|call| call.name == *name));
            if known && !level.iter().any(turns_off) {
                self.diagnostics.push(format!("power_management.{number}: none of its methods turns off"));
            }
        }
        self.supplies(calls);
        let levels: Vec<BTreeSet<&String>> = self.found.levels().map(|level| level.iter().collect()).collect();
        for (index, level) in levels.iter().enumerate().skip(1) {
            if let Some(before) = levels[..index].iter().position(|other| other == level) {
                let (before, number) = (before + 1, index + 1);
                self.diagnostics.push(format!("power_management.{number}: it has the methods of level {before}"));
            }
        }
    }

    /// Off at one outlet is no proof while another one feeds the machine: a level that relies on outlets turns off all that
    /// any level knows. One that asks the machine itself need not.
    fn supplies(&mut self, calls: &[ValidatedMethod]) {
        let is_outlet = |call: &ValidatedMethod| call.identity_method == IdentityMethod::Configured;
        let turns_off = |level: &Vec<String>| -> Vec<&ValidatedMethod> {
            let off = calls.iter().filter(|call| call.actions.contains(&AgentAction::Off) && call.storage.is_none());
            off.filter(|call| level.contains(&call.name)).collect()
        };
        let outlets = |calls: &[&ValidatedMethod]| -> BTreeSet<String> {
            calls.iter().filter(|call| is_outlet(call)).flat_map(|call| plugs::outlets(call)).collect()
        };
        let levels: Vec<Vec<&ValidatedMethod>> = self.found.levels().map(turns_off).collect();
        let all: BTreeSet<String> = levels.iter().flat_map(|calls| outlets(calls)).collect();
        for (level, number) in levels.iter().zip(1..) {
            let (own, relies) = (outlets(level), !level.is_empty() && level.iter().all(|call| is_outlet(call)));
            if !relies && !own.is_empty() {
                self.notes.push(format!(
                    "power_management: level {number} has outlets beside what asks the machine itself: a BMC that they feed \
                     cannot read Off without power, and belongs into a level of its own"
                ));
            }
            let left: Vec<&str> = all.difference(&own).map(String::as_str).collect();
            if relies && !left.is_empty() {
                self.diagnostics.push(format!(
                    "power_management: level {number} leaves {} on; a level turns off every outlet of the machine, or its Off \
                     proves nothing: add its method to the level",
                    left.join(" ")
                ));
            }
        }
    }

    /// Power and storage in one step would leave open which of them is proven.
    fn storage(&mut self, calls: &[ValidatedMethod]) -> Option<String> {
        let power = calls.iter().filter(|call| self.found.is_of_power(&call.name));
        let storages: BTreeSet<Option<&str>> =
            power.filter(|call| call.actions.contains(&AgentAction::Off)).map(|call| call.storage.as_deref()).collect();
        if storages.len() > 1 {
            self.diagnostics.push(
                "power_management: methods with different storage= (or without) are mixed; one kind only".to_owned(),
            );
        } else if storages.iter().any(Option::is_some) && !self.found.further_levels.is_empty() {
            self.diagnostics.push(
                "power_management.2: methods with storage= have no further level: pods are released for the storage that was \
                 cut off, and no other"
                    .to_owned(),
            );
        }
        storages.into_iter().next().flatten().map(str::to_owned)
    }
}

fn check_option(agent: &str, name: &str, kind: &ParameterKind, value: &str) -> Result<(), String> {
    if forbidden::is_secret(name) {
        return Err("is a secret; put it into the method's Secret, under this name as the key".to_owned());
    }
    if let Some(why) = forbidden::why(name) {
        return Err(format!("may not be set here: {why}"));
    }
    let is_sound = || check_value(agent, name, value).map_or(Ok(()), |why| Err(format!("is {value:?}, which {why}")));
    match kind {
        ParameterKind::Text => is_sound(),
        // No port is a number of any size.
        ParameterKind::Integer | ParameterKind::Second if value.parse::<u32>().is_ok() => is_sound(),
        ParameterKind::Integer | ParameterKind::Second => Err(format!("is {value}, not a whole number")),
        ParameterKind::Boolean if is_boolean(value) => Ok(()),
        ParameterKind::Boolean => Err(format!("is {value}; there are on, yes, true, 1 and off, no, false, 0")),
        ParameterKind::Select(values) if values.iter().any(|one| one == value) => Ok(()),
        ParameterKind::Select(values) => Err(format!("is {value}; there are {}", values.join(", "))),
    }
}

fn is_boolean(value: &str) -> bool {
    let values = ["on", "yes", "true", "1", "off", "no", "false", "0"];
    values.contains(&value.to_ascii_lowercase().as_str())
}
