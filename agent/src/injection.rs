//! `nodewell inject`: one marked kernel record is expected, by a nonce that cannot be guessed, and goes the real way.

use std::{collections::BTreeSet, io::Read, sync::Arc, time::Duration};

use nodewell_faults::Host;
use nodewell_model::{
    BootId, Name, Severity,
    api::{InjectAnswer, InjectRequest},
};
use nodewell_rules::{Reader, Rule, RuleSet, rule::RecoveryCheck};
use tokio::sync::watch;

use crate::{
    runtime::clock,
    socket::Injector,
    sources::kmsg::{Expectations, INJECTION_MARK},
};

/// How long a record may take from the answer to the kernel log; a person at a terminal needs milliseconds.
const EXPECTED_FOR: Duration = Duration::from_secs(30);
/// A test problem's life, whatever its rule sets.
pub const TEST_LIFE: Duration = Duration::from_secs(60);

/// The most reasons in an error.
const SHOWN: usize = 8;

/// Knows the rules and what the kernel log's reader may expect.
pub struct RuleInjector {
    rules: watch::Receiver<Arc<RuleSet>>,
    expectations: Expectations,
    kmsg: String,
}

impl RuleInjector {
    /// `kmsg` is where a person has to write.
    #[must_use]
    pub fn new(rules: watch::Receiver<Arc<RuleSet>>, expectations: Expectations, kmsg: String) -> Self {
        Self { rules, expectations, kmsg }
    }
}

impl Injector for RuleInjector {
    fn check_of(&self, reason: &Name) -> Option<&'static str> {
        self.rules.borrow().check_of(reason).map(RecoveryCheck::as_str)
    }

    fn prepare(&self, request: &InjectRequest) -> Result<InjectAnswer, String> {
        let rules = self.rules.borrow();
        let Chosen { example, reason, condition, severity } = choose(&rules, request)?;
        let nonce = nonce().map_err(|error| format!("the kernel gave no random bytes: {error}"))?;
        self.expectations.expect(nonce.clone(), clock::boottime() + EXPECTED_FOR);
        Ok(InjectAnswer {
            line: format!("<{}>{INJECTION_MARK}{nonce}: {example}", priority(severity)),
            kmsg: self.kmsg.clone(),
            reason,
            condition,
            severity,
            expires_secs: EXPECTED_FOR.as_secs(),
            clears_secs: TEST_LIFE.as_secs(),
        })
    }
}

/// A line, and what the agent will report of it.
struct Chosen {
    example: String,
    reason: Name,
    condition: Option<Name>,
    severity: Severity,
}

fn choose(rules: &RuleSet, request: &InjectRequest) -> Result<Chosen, String> {
    by_rule(rules, request).or_else(|error| decoded(rules, request).ok_or(error))
}

/// A kernel log rule of that reason with an example of one line; one that holds a condition is shown first.
fn by_rule(rules: &RuleSet, request: &InjectRequest) -> Result<Chosen, String> {
    let reason = &request.reason;
    // What a decoder finds has reasons of its own.
    let of_reason = rules.rules.iter().filter(|rule| rule.reason == *reason && rule.decoder.is_none());
    let named: Vec<&Rule> = of_reason.collect();
    if named.is_empty() {
        return Err(format!(
            "no rule of a log has the reason {reason}: a check, a daemon, or nothing reports it (`nodewell explain {reason}`); {}",
            instead(rules, request.condition.as_ref())
        ));
    }
    let fitting = named.iter().filter(|rule| request.condition.is_none() || rule.condition == request.condition);
    let from_kernel = fitting.filter(|rule| rules.readers.get(rule.reader) == Some(&Reader::Kmsg));
    let mut candidates: Vec<(&Rule, &str)> =
        from_kernel.filter_map(|rule| Some((*rule, single_line_example(rule)?))).collect();
    candidates.sort_by_key(|(rule, _)| rule.condition.is_none());
    candidates.first().map(|(rule, example)| Chosen::of_rule(rule, example)).ok_or_else(|| {
        let why = unfit(rules, &named, request);
        let like = request.condition.as_ref().or(named.iter().find_map(|rule| rule.condition.as_ref()));
        format!("{why}; {}", instead(rules, like))
    })
}

/// Why none of the rules of that reason can be injected.
fn unfit(rules: &RuleSet, named: &[&Rule], InjectRequest { reason, condition }: &InjectRequest) -> String {
    let is_in_kernel_log = named.iter().any(|rule| rules.readers.get(rule.reader) == Some(&Reader::Kmsg));
    match condition {
        _ if !is_in_kernel_log => format!(
            "inject is only for rules of the kernel log, and {reason} is found elsewhere: `nodewell replay` tries it \
             on a saved log, and its line written to the log that its rule reads goes the whole way"
        ),
        _ if has_no_example(rules, named, condition.as_ref()) => format!(
            "the rule of {reason} has no example of its line, as Node Problem Detector's files have none: \
             `nodewell import-npd` writes one with each rule, in a rule file it is `matches`"
        ),
        Some(condition) => format!("no kernel log rule has the reason {reason} for the condition {condition}"),
        None => format!("{reason} is not found in the kernel log by one line, so it cannot be injected there"),
    }
}

/// Whether there are rules of the kernel log that would do, if one could write their lines.
fn has_no_example(rules: &RuleSet, named: &[&Rule], condition: Option<&Name>) -> bool {
    let from_kernel = named.iter().filter(|rule| rules.readers.get(rule.reader) == Some(&Reader::Kmsg));
    let mut fitting = from_kernel.filter(|rule| condition.is_none() || rule.condition.as_ref() == condition).peekable();
    fitting.peek().is_some() && fitting.all(|rule| rule.examples.matches.is_empty())
}

/// What can be injected: those of `condition`, if there are any.
fn instead(rules: &RuleSet, condition: Option<&Name>) -> String {
    let from_kernel = rules.rules.iter().filter(|rule| rules.readers.get(rule.reader) == Some(&Reader::Kmsg));
    let can = from_kernel.filter(|rule| rule.decoder.is_none() && single_line_example(rule).is_some());
    let (of_it, others): (Vec<_>, Vec<_>) =
        can.partition(|rule| condition.is_some() && rule.condition.as_ref() == condition);
    let (of, reasons) = match condition.filter(|_| !of_it.is_empty()) {
        Some(condition) => (format!(" of {condition}"), of_it),
        None => (String::new(), others),
    };
    let reasons: BTreeSet<&str> = reasons.iter().map(|rule| rule.reason.as_str()).collect();
    let shown: Vec<&str> = reasons.iter().take(SHOWN).copied().collect();
    let more = if reasons.len() > SHOWN { format!(" and {} others", reasons.len() - SHOWN) } else { String::new() };
    format!("reasons{of} that can be: {}{more}", shown.join(", "))
}

/// A line that a decoder of the kernel log's rules takes for that reason.
fn decoded(rules: &RuleSet, request: &InjectRequest) -> Option<Chosen> {
    let from_kernel = rules.rules.iter().filter(|rule| rules.readers.get(rule.reader) == Some(&Reader::Kmsg));
    let decoder = from_kernel.filter_map(|rule| rule.decoder).find(|decoder| decoder.gives(&request.reason))?;
    let tables = rules.tables();
    let example = tables.example(decoder, &request.reason)?;
    let found = tables.decode(decoder, &example, &Host::default()).into_iter().next()?;
    let fits = request.condition.is_none() || found.condition == request.condition;
    let (reason, condition, severity) = (found.reason, found.condition, found.severity);
    fits.then_some(Chosen { example, reason, condition, severity })
}

impl Chosen {
    fn of_rule(rule: &Rule, example: &str) -> Self {
        let (reason, condition) = (rule.reason.clone(), rule.condition.clone());
        Self { example: example.to_owned(), reason, condition, severity: rule.severity }
    }
}

/// A counting rule's example may be as many lines as it counts; a test writes only the last one.
fn single_line_example(rule: &Rule) -> Option<&str> {
    let mut examples = rule.examples.matches.iter().map(|example| example.text.trim_end());
    match rule.counting {
        Some(_) => examples.next()?.lines().last(),
        None => examples.find(|text| !text.contains('\n')),
    }
}

/// The kernel log's level. 3 and below would print on the console of a default system; a test need not.
fn priority(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 6,
        Severity::Warn | Severity::Error | Severity::Critical => 5,
    }
}

/// Sixteen random bytes, in the spelling of a boot id.
fn nonce() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(BootId::from_bytes(bytes).to_string())
}

#[cfg(test)]
mod tests {
    use nodewell_rules::{LoadPlan, load};

    use super::*;

    fn chosen(reason: &str, condition: Option<&str>) -> Result<Chosen, String> {
        let condition = condition.map(|name| Name::new(name).unwrap());
        let request = InjectRequest { reason: Name::new(reason).unwrap(), condition };
        choose(&load(&LoadPlan::default()).set, &request)
    }

    #[test]
    fn a_reason_that_cannot_be_injected_is_answered_by_those_that_can() {
        let rules = load(&LoadPlan::default()).set;
        let kmsg = |rule: &&Rule| rules.readers.get(rule.reader) == Some(&Reader::Kmsg);
        let other = |rule: &&Rule| !kmsg(rule) && rule.decoder.is_none() && rule.condition.is_none();
        let other = rules.rules.iter().find(other).unwrap();
        let error = chosen(other.reason.as_str(), None).err().unwrap();
        assert!(error.starts_with("inject is only for rules of the kernel log, and "), "{error}");
        let listed = error.rsplit(": ").next().unwrap().split(" and ").next().unwrap();
        let reasons: Vec<&str> = listed.split(", ").collect();
        assert!(reasons.len() > 1 && reasons.len() <= SHOWN, "{error}");
        for reason in reasons {
            assert!(chosen(reason, None).is_ok(), "{reason} of {error}");
        }
        let error = chosen("KernelOops", Some("DiskUnhealthy")).err().unwrap();
        assert!(error.contains("reasons of DiskUnhealthy that can be: "), "{error}");
    }

    #[test]
    fn a_rule_without_an_example_is_no_rule_that_cannot_be_injected() {
        let mut set = load(&LoadPlan::default()).set;
        let oops = set.rules.iter_mut().filter(|rule| rule.reason.as_str() == "KernelOops");
        oops.for_each(|rule| rule.examples.matches.clear());
        for condition in [None, Some(Name::fixed("KernelUnhealthy"))] {
            let request = InjectRequest { reason: Name::fixed("KernelOops"), condition };
            let error = choose(&set, &request).err().unwrap();
            assert!(error.starts_with("the rule of KernelOops has no example of its line, "), "{error}");
        }
        let request =
            InjectRequest { reason: Name::fixed("KernelOops"), condition: Some(Name::fixed("DiskUnhealthy")) };
        assert!(choose(&set, &request).err().unwrap().starts_with("no kernel log rule has"));
    }

    /// A daemon forgets most examples, and no rule of the kernel log loses its last one.
    #[test]
    fn what_a_daemon_keeps_of_its_rules_is_enough() {
        let whole = load(&LoadPlan::default()).set;
        let mut kept = whole.clone();
        kept.forget_prose();
        for rule in &whole.rules {
            let request = InjectRequest { reason: rule.reason.clone(), condition: None };
            let line = |set: &RuleSet| choose(set, &request).ok().map(|chosen| chosen.example);
            assert_eq!(line(&kept), line(&whole), "{}", rule.reason);
        }
    }

    #[test]
    fn a_reason_of_a_table_has_a_line_as_one_of_a_rule_has() {
        let oops = chosen("KernelOops", None).ok().unwrap();
        assert!(oops.condition.is_some() && !oops.example.is_empty());
        let firmware = chosen("GpuXid119GspRpcTimeout", None).ok().unwrap();
        assert!(firmware.example.starts_with("NVRM: Xid (PCI:0000:00:00.0): 119"), "{}", firmware.example);
        assert_eq!(firmware.condition.unwrap().as_str(), "GpuUnhealthy");
        let switch = chosen("NvSwitchSXid24007SourcetrackTimeout", Some("GpuFabricUnhealthy")).ok().unwrap();
        assert_eq!(switch.severity, Severity::Critical);
        assert!(chosen("GpuXid31MemoryPageFault", Some("GpuUnhealthy")).is_err(), "it is an Event");
        assert!(chosen("GpuXid", None).is_err(), "the rule's own name is no reason");
    }
}
