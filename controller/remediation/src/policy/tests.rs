//! Policies from their YAML.

mod diagnostics;
mod reading;
mod widening;

use super::*;

fn compile(yaml: &str) -> Result<Policy, Vec<PolicyDiagnostic>> {
    let policy: RemediationPolicy = serde_saphyr::from_str(yaml).expect(yaml);
    Policy::compile(&policy)
}

/// A policy with these lines in its spec, beside a predicate and a cordon.
fn with(lines: &str) -> String {
    let steps = if lines.contains("steps:") { "" } else { "  steps: [{cordon: {}}]\n" };
    let when = if lines.contains("when:") { "" } else { "  when: 'true'\n" };
    format!("metadata: {{name: p}}\nspec:\n{when}{steps}  {}\n", lines.trim().replace('\n', "\n  "))
}
