//! The rules that the agent runs: loaded, and proven as far as they were not proven before they were shipped.

use nodewell_rules::{Diagnostic, LoadPlan, Loaded, Prose, RuleSet, check_examples_where, load, shipped};

use crate::config::Config;

/// The rules that `config` names, if they are good as a whole, do what their examples show, and know what its grants
/// name.
pub fn load_rules(config: &Config) -> Result<RuleSet, Vec<Diagnostic>> {
    let plan = LoadPlan { prose: Prose::SkimShipped, ..config.load_plan() };
    let Loaded { mut set, mut diagnostics, warnings, .. } = load(&plan);
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    add_own_conditions(&mut set);
    // Rules with an error are not in the set. The examples of all others run, so that every error is reported at once.
    // The examples of the shipped rules ran before they were shipped.
    diagnostics.extend(check_examples_where(&set, |rule| !shipped::is_shipped(&rule.location.file)));
    if diagnostics.is_empty() {
        diagnostics.extend(config.beyond(&set.conditions));
    }
    diagnostics.sort();
    set.forget_prose();
    if diagnostics.is_empty() { Ok(set) } else { Err(diagnostics) }
}

/// The conditions that the agent turns by itself, whichever rules there are.
pub fn add_own_conditions(set: &mut RuleSet) {
    let missing = shipped::own_conditions_beyond(&set.conditions);
    set.conditions.extend(missing);
}
