//! What overrides change of rules, once all rules of all files are known.

use std::collections::HashMap;

use nodewell_model::Name;

use super::Loaded;
use crate::{
    Diagnostic, Note, Reader, Rule, RuleSet,
    draft::{EndDraft, KindDraft, OverrideDraft},
    nearest::did_you_mean,
    rule::Clears,
};

/// Applies them; `known` are rules that are not loaded here. What does not fit the rules that are there is an error; that
/// there is none of the reason any more, or that two files override it, keeps no agent from starting.
pub(super) fn apply(overrides: Vec<OverrideDraft>, known: &[Rule], loaded: &mut Loaded) {
    let mut last: HashMap<Name, OverrideDraft> = HashMap::new();
    for over in overrides {
        let location = over.location.clone();
        if let Some(earlier) = last.insert(over.reason.clone(), over) {
            let message = format!("the override of {} at {location} counts, not this one", earlier.reason);
            loaded.warnings.push(Note::new(earlier.location, message));
        }
    }
    for over in last.into_values() {
        match change(&over, known, &mut loaded.set) {
            Ok(()) => loaded.warnings.extend(beside_checks(&over)),
            Err(Unfit::Note(message)) => loaded.warnings.push(Note::new(over.location, message)),
            Err(Unfit::Error(message)) => loaded.diagnostics.push(Diagnostic::new(over.location, message)),
        }
    }
}

/// Why an override changes nothing.
enum Unfit {
    Note(String),
    Error(String),
}

fn change(over: &OverrideDraft, known: &[Rule], set: &mut RuleSet) -> Result<(), Unfit> {
    let reason = &over.reason;
    let all = || set.rules.iter().chain(known);
    let is_code = |rule: &Rule| rule.decoder.is_some_and(|decoder| rule.reason == *reason || decoder.gives(reason));
    if all().any(is_code) {
        let message =
            format!("a table of codes says what {reason} is: override its codes by `xids` in [gpu] of the config");
        return Err(Unfit::Error(message));
    }
    let rules: Vec<&Rule> = all().filter(|rule| rule.reason == *reason).collect();
    if rules.is_empty() {
        let hint = did_you_mean(reason.as_str(), all().map(|rule| rule.reason.as_str()));
        return Err(Unfit::Note(format!("the override of {reason} changes nothing: no rule has this reason{hint}")));
    }
    check_kind(over, &rules).map_err(Unfit::Error)?;
    // A condition that no file declares is reported where it stands.
    let is_declared = |name: &Name| set.conditions.iter().any(|spec| spec.condition == *name);
    if matches!(&over.kind, Some(KindDraft::Permanent { condition, .. }) if !is_declared(condition)) {
        return Ok(());
    }
    for rule in set.rules.iter_mut().filter(|rule| rule.reason == *reason) {
        let is_kernels = set.readers.get(rule.reader) == Some(&Reader::Kmsg);
        change_rule(rule, over, is_kernels);
    }
    Ok(())
}

/// What checks report needs no rule, so no override changes it.
fn beside_checks(over: &OverrideDraft) -> Option<Note> {
    let is_checks = nodewell_faults::reason::named(over.reason.as_str()).is_some();
    let message = || format!("a check reports {}, too, which an override of rules does not change", over.reason);
    (is_checks && over.kind.is_some()).then(|| Note::new(over.location.clone(), message()))
}

/// One kind must fit all rules of the reason, and each must end.
fn check_kind(over: &OverrideDraft, rules: &[&Rule]) -> Result<(), String> {
    let Some(KindDraft::Permanent { condition, clears }) = &over.kind else { return Ok(()) };
    let reason = &over.reason;
    let lasting: Vec<&&Rule> = rules.iter().filter(|rule| rule.condition.is_some()).collect();
    let Some(first) = lasting.first() else {
        let needs = format!("{reason} is an event so far: say how it ends as a problem of {condition}");
        return if clears.is_some() { Ok(()) } else { Err(format!("{needs}, such as clears = {{ quiet = \"1h\" }}")) };
    };
    if lasting.len() < rules.len() {
        let message = format!("{reason} is an event by one rule and holds a condition by another ({})", first.location);
        return Err(format!("{message}: write a rule of your own"));
    }
    if lasting.iter().any(|rule| rule.condition != first.condition) {
        return Err(format!("the rules of {reason} hold several conditions: write a rule of your own"));
    }
    let is_checked = lasting.iter().any(|rule| rule.clears.check.is_some());
    if is_checked && clears.is_none() && first.condition.as_ref() != Some(condition) {
        return Err(format!("what ends {reason} looks after its own condition: say how it ends, by \"clears\""));
    }
    Ok(())
}

fn change_rule(rule: &mut Rule, over: &OverrideDraft, is_kernels: bool) {
    match &over.kind {
        None => {}
        Some(KindDraft::Temporary) => {
            (rule.condition, rule.clears) = (None, Clears::default());
            rule.examples.recovers.clear();
        }
        Some(KindDraft::Permanent { condition, clears }) => {
            if rule.condition.as_ref() != Some(condition) {
                // Its source need not be readable for what others report of that condition.
                (rule.condition, rule.shows_healthy_condition) = (Some(condition.clone()), false);
            }
            if let Some(EndDraft { quiet, boot }) = clears {
                // What the kernel reported of itself does not outlive the kernel.
                rule.clears = Clears { quiet: *quiet, boot: boot.unwrap_or(is_kernels), ..Clears::default() };
                rule.examples.recovers.clear();
            }
        }
    }
    rule.severity = over.severity.unwrap_or(rule.severity);
    rule.overridden = Some(over.location.clone());
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use nodewell_model::Severity;

    use crate::{LoadPlan, Loaded, check_examples, load, load_path, load_text};

    const RULES: &str = "[[condition]]\ntype = 'RaidUnhealthy'\nhealthy-reason = 'RaidIsHealthy'\nhealthy-message = 'm'\n\
        [[rule]]\nreason = 'RaidSlow'\ntype = 'temporary'\npattern = '^raid: slow'\nmatches = ['raid: slow']\n\
        [[rule]]\nreason = 'RaidLost'\ntype = 'permanent'\ncondition = 'RaidUnhealthy'\npattern = '^raid: lost'\n\
        clears = { pattern = '^raid: back' }\nmatches = ['raid: lost']\nrecovers = ['raid: back']\n";

    fn loaded(overrides: &str) -> Loaded {
        load_text("mine.toml".as_ref(), &format!("{RULES}{overrides}"))
    }

    fn error(overrides: &str) -> String {
        let diagnostics = loaded(overrides).diagnostics;
        diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_event_becomes_a_problem_and_the_reverse() {
        let Loaded { set, diagnostics, .. } = loaded(
            "[override.RaidSlow]\ncondition = 'RaidUnhealthy'\nclears = { quiet = '30m' }\n\
             [override.RaidLost]\ntype = 'temporary'\nseverity = 'info'\n",
        );
        assert_eq!(diagnostics, []);
        let (slow, lost) = (&set.rules[0], &set.rules[1]);
        assert_eq!(slow.condition.as_ref().map(|name| name.as_str()), Some("RaidUnhealthy"));
        assert_eq!((slow.clears.quiet, slow.clears.boot), (Some(Duration::from_secs(1800)), true));
        assert_eq!((&lost.condition, lost.severity), (&None, Severity::Info));
        assert!(slow.overridden.as_ref().is_some_and(|at| at.line > 0));
        assert_eq!(check_examples(&set), [], "the examples still hold");
    }

    #[test]
    fn severity_alone_leaves_the_rest() {
        let set = loaded("[override.RaidLost]\nseverity = 'critical'\n").set;
        assert_eq!(set.rules[1].severity, Severity::Critical);
        assert_eq!(set.rules[1].clears.patterns, ["^raid: back"]);
        assert!(set.rules[0].overridden.is_none());
        assert_eq!(check_examples(&set), []);
    }

    #[test]
    fn mistakes_are_named() {
        for (overrides, part) in [
            ("[override.RaidSlow]\n", "changes nothing; it takes severity"),
            ("[override.RaidSlow]\ncondition = 'RaidUnhealthy'\n", "is an event so far: say how it ends"),
            ("[override.RaidSlow]\ncondition = 'Raid'\nclears = { boot = true }\n", "unknown condition \"Raid\""),
            ("[override.RaidLost]\ntype = 'permanent'\n", "lacks \"condition\""),
            ("[override.RaidLost]\ntype = 'temporary'\nclears = { quiet = '1h' }\n", "an event has no \"clears\""),
            ("[override.RaidLost]\nclears = { quiet = '1h' }\n", "\"clears\" needs \"condition\""),
            ("[override.RaidLost]\ncondition = 'RaidUnhealthy'\nclears = { boot = false }\n", "names no way to end"),
            ("[override]\nRaidLost = 'info'\n", "takes a table for each reason"),
            ("[override.RaidLost]\nlevel = 'info'\n", "unknown key \"level\""),
        ] {
            assert!(error(overrides).contains(part), "{overrides} gives {}", error(overrides));
        }
    }

    #[test]
    fn what_finds_no_rule_any_more_keeps_no_agent_from_starting() {
        let Loaded { diagnostics, warnings, .. } = loaded("[override.RaidSlw]\nseverity = 'info'\n");
        assert_eq!(diagnostics, []);
        let message = &warnings[0].message;
        assert!(message.contains("no rule has this reason; did you mean \"RaidSlow\"?"), "{message}");
    }

    #[test]
    fn a_condition_of_its_own_is_not_shown_for_its_sake() {
        let set = loaded("[override.RaidSlow]\ncondition = 'RaidUnhealthy'\nclears = { boot = true }\n").set;
        assert!(!set.rules[0].shows_healthy_condition && set.rules[1].shows_healthy_condition);
    }

    #[test]
    fn a_file_beside_the_shipped_ones_changes_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("mine.toml", "[override.KernelOops]\nseverity = 'warn'\n");
        let plan = LoadPlan { overrides: Some(folder.path().to_owned()), ..LoadPlan::default() };
        let Loaded { set, diagnostics, .. } = load(&plan);
        assert_eq!(diagnostics, []);
        let mut oopses = set.rules.iter().filter(|rule| rule.reason.as_str() == "KernelOops").peekable();
        assert!(oopses.peek().is_some() && oopses.all(|rule| rule.severity == Severity::Warn));
        write("other.toml", "[override.KernelOops]\nseverity = 'info'\n");
        let Loaded { set, warnings, .. } = load(&plan);
        assert!(warnings.iter().any(|note| note.message.contains("other.toml:1 counts")), "{warnings:?}");
        let mut oopses = set.rules.iter().filter(|rule| rule.reason.as_str() == "KernelOops");
        assert!(oopses.all(|rule| rule.severity == Severity::Info), "the later file counts");
    }

    /// What `nodewell check FILE` says of a file is what the agent says of it beside the shipped ones.
    #[test]
    fn a_file_alone_is_held_against_the_shipped_rules() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        for (overrides, part) in [
            ("[override.KernelOops]\nseverity = 'warn'\n", None),
            ("[override.NicSafeMode]\ncondition = 'NetworkUnhealthy'\n", Some("is an event so far")),
            ("[override.IOError]\ncondition = 'DiskUnhealthy'\n", Some("write a rule of your own")),
        ] {
            fs::write(&file, overrides).unwrap();
            let plan = LoadPlan { overrides: Some(folder.path().to_owned()), ..LoadPlan::default() };
            for diagnostics in [load_path(&file).diagnostics, load(&plan).diagnostics] {
                let is_as_said = |part: &str| diagnostics.len() == 1 && diagnostics[0].message.contains(part);
                assert!(part.map_or(diagnostics.is_empty(), is_as_said), "{overrides}: {diagnostics:?}");
            }
        }
    }
}
