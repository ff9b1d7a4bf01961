//! From what is stored or sent as a `RemediationPolicy` to the kind itself: what does not fit it names its field, and what
//! may have been meant.

use serde_json::Value;

use super::{Policy, PolicyDiagnostic};
use crate::{api::policy::RemediationPolicy, method::suggestions::distance};

/// Letters that may be wrong.
const MAX_SLIPS: usize = 2;

/// The kind's own form, unchecked.
pub fn read(policy: &Value) -> Result<RemediationPolicy, PolicyDiagnostic> {
    serde_path_to_error::deserialize(policy).map_err(|error| {
        let path = error.path().to_string();
        diagnostic(&path, &error.into_inner().to_string())
    })
}

impl Policy {
    /// Read and checked: every error that can be found.
    pub fn of_json(policy: &Value) -> Result<Self, Vec<PolicyDiagnostic>> {
        Self::compile(&read(policy).map_err(|diagnostic| vec![diagnostic])?)
    }
}

fn diagnostic(path: &str, problem: &str) -> PolicyDiagnostic {
    let field = path.trim_end_matches(".?").to_owned();
    if problem.contains("untagged enum Amount") {
        return PolicyDiagnostic {
            field,
            problem: "is neither a number of nodes nor a share such as '10%'".to_owned(),
        };
    }
    let names: Vec<&str> = problem.split('`').skip(1).step_by(2).collect();
    let (is_field, is_value) = (problem.starts_with("unknown field"), problem.starts_with("unknown variant"));
    let (true, [wrong, known @ ..]) = (is_field || is_value, names.as_slice()) else {
        return PolicyDiagnostic { field, problem: problem.to_owned() };
    };
    let what = if is_field { format!("there is no field `{wrong}`") } else { format!("`{wrong}` is no value of it") };
    let problem = match meant(wrong, known) {
        Some(meant) => format!("{what}; is `{meant}` meant?"),
        None => format!("{what}; there {}", listed(known)),
    };
    let parent = field.strip_suffix(wrong).and_then(|parent| parent.strip_suffix('.')).unwrap_or(&field);
    let field = if is_field { parent.to_owned() } else { field };
    PolicyDiagnostic { field, problem }
}

fn listed(known: &[&str]) -> String {
    match known {
        [] => "are none".to_owned(),
        [one] => format!("is {one}"),
        more => format!("are {}", more.join(", ")),
    }
}

fn meant<'k>(wrong: &str, known: &[&'k str]) -> Option<&'k str> {
    let slips = |name: &str| distance(&wrong.to_lowercase(), &name.to_lowercase());
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    // In a short name two slips leave little; two letters that changed places leave all.
    let is_near = |name: &&str| match slips(name) {
        0 | 1 => true,
        MAX_SLIPS => name.len() > 4 || letters(name) == letters(wrong),
        _ => false,
    };
    known.iter().copied().filter(is_near).min_by_key(|name| slips(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(spec: Value) -> String {
        let mut spec = spec;
        for (field, value) in [("when", json!("node.ready")), ("steps", json!([{ "cordon": {} }]))] {
            if spec[field].is_null() {
                spec[field] = value;
            }
        }
        read(&json!({ "metadata": { "name": "p" }, "spec": spec })).unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_fit_names_its_field_and_what_was_meant() {
        for (spec, expected) in [
            (json!({ "fro": "5m" }), "spec: there is no field `fro`; is `for` meant?"),
            (
                json!({ "budget": { "maxUnavailble": 1 } }),
                "spec.budget: there is no field `maxUnavailble`; is `maxUnavailable` meant?",
            ),
            (json!({ "mode": "enforce" }), "spec.mode: `enforce` is no value of it; is `Enforce` meant?"),
            (json!({ "mode": "Off" }), "spec.mode: `Off` is no value of it; there are Observe, Enforce, Paused"),
            (
                json!({ "steps": [{ "cordon": {} }, { "drian": {} }] }),
                "spec.steps[1]: there is no field `drian`; is `drain` meant?",
            ),
            (json!({ "budget": { "maxUnavailable": [1] } }), "spec.budget.maxUnavailable: is neither a number"),
            (json!({ "trustEvents": "yes" }), "spec.trustEvents: invalid type: string \"yes\", expected a boolean"),
            (json!({ "for": 5 }), "spec.for: invalid type"),
            (json!({ "selector": { "matchLabel": {} } }), "is `matchLabels` meant?"),
            (json!({ "colour": 1 }), "spec: there is no field `colour`; there are selector, when"),
        ] {
            let refused = refused(spec.clone());
            assert!(refused.contains(expected), "{spec}: {refused}");
        }
    }
}
