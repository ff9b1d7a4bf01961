//! What is refused, and where.

use super::*;

#[test]
fn each_mistake_names_its_field() {
    for (lines, field, expected) in [
        ("when: ''", "spec.when", "is empty"),
        ("when: 'node.redy'", "spec.when", "has no `redy`"),
        ("for: 5", "spec.for", "no duration"),
        ("healthyDelay: soon", "spec.healthyDelay", "no duration"),
        ("nodeStartupGracePeriod: 1y", "spec.nodeStartupGracePeriod", "no duration"),
        (
            "selector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}",
            "spec.selector.matchExpressions[0].operator",
            "none of",
        ),
        (
            "selector: {matchExpressions: [{key: a, operator: In}]}",
            "spec.selector.matchExpressions[0].values",
            "at least one",
        ),
        (
            "selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
            "spec.selector.matchExpressions[0].values",
            "no values",
        ),
        (
            "selector: {matchExpressions: [{key: '', operator: Exists}]}",
            "spec.selector.matchExpressions[0].key",
            "empty",
        ),
        ("budget: {maxUnavailable: 110%}", "spec.budget.maxUnavailable", "more than all"),
        ("budget: {maxUnavailablePerZone: few}", "spec.budget.maxUnavailablePerZone", "no amount"),
        ("cordonBudget: {maxUnavailable: '-1'}", "spec.cordonBudget.maxUnavailable", "no amount"),
        ("budget: {topology: [{label: '', maxUnavailable: 1}]}", "spec.budget.topology[0].label", "empty"),
        ("budget: {topology: [{label: a, maxUnavailable: x}]}", "spec.budget.topology[0].maxUnavailable", "no amount"),
        (
            "budget: {topology: [{label: a, maxUnavailable: 1}, {label: a, maxUnavailable: 2}]}",
            "spec.budget.topology[1].label",
            "already",
        ),
        ("budget: {rate: {count: 1, window: 0s}}", "spec.budget.rate.window", "no window"),
        ("storm: {unhealthy: lots}", "spec.storm.unhealthy", "no amount"),
        ("storm: {rate: {count: 5, window: x}}", "spec.storm.rate.window", "no duration"),
        ("storm: {cooldown: x}", "spec.storm.cooldown", "no duration"),
        ("powerCycles: {count: 2, window: 1w}", "spec.powerCycles.window", "no duration"),
        ("pods: {count: 2, window: ''}", "spec.pods.window", "no duration"),
        ("fast: {silentFor: 5s}", "spec.fast.silentFor", "shorter than 10s"),
        ("fast: {unreachableFrom: 1}", "spec.fast.unreachableFrom", "fewer than 2"),
        ("steps: []", "spec.steps", "is empty"),
        ("steps: [{}]", "spec.steps[0]", "names no step"),
        ("steps: [{cordon: {}, drain: {}}]", "spec.steps[0]", "one step each"),
        ("steps: [{cordon: {}}, {cordon: {}}]", "spec.steps[1]", "already"),
        ("steps: [{drain: {}}]", "spec.steps[0]", "needs cordon or taint"),
        ("steps: [{taint: {}}, {drain: {}}, {cordon: {}}]", "spec.steps[2]", "before drain"),
        ("steps: [{cordon: {}}, {reboot: {}}]", "spec.steps[1]", "needs drain"),
        ("steps: [{powerCycle: {}}, {cordon: {}}]", "spec.steps[1]", "before powerCycle"),
        ("steps: [{cordon: {}}, {reap: {}}]", "spec.steps[1]", "needs drain or powerCycle"),
        ("steps: [{cordon: {}}, {drain: {}}, {reap: {}}, {powerCycle: {}}]", "spec.steps[3]", "before reap"),
        ("steps: [{taint: {key: 'a b'}}]", "spec.steps[0].taint.key", "no taint's key"),
        ("steps: [{cordon: {}}, {drain: {timeout: 0s}}]", "spec.steps[1].drain.timeout", "never drain"),
        ("steps: [{cordon: {}}, {drain: {retry: x}}]", "spec.steps[1].drain.retry", "no duration"),
        (
            "steps: [{cordon: {}}, {drain: {skipWaitForDeleteTimeout: x}}]",
            "spec.steps[1].drain.skipWaitForDeleteTimeout",
            "no duration",
        ),
        ("steps: [{powerCycle: {readyTimeout: x}}]", "spec.steps[0].powerCycle.readyTimeout", "no duration"),
        ("steps: [{powerCycle: {kdumpWait: x}}]", "spec.steps[0].powerCycle.kdumpWait", "no duration"),
        ("steps: [{cordon: {}, thenWait: x}]", "spec.steps[0].thenWait", "no duration"),
    ] {
        let diagnostics = compile(&with(lines)).expect_err(lines);
        assert_eq!(diagnostics.len(), 1, "{lines}: {diagnostics:?}");
        assert_eq!(diagnostics[0].field, field, "{lines}");
        assert!(diagnostics[0].problem.contains(expected), "{lines}: {}", diagnostics[0]);
    }
}

#[test]
fn every_mistake_is_reported_at_once() {
    let lines =
        "when: 'node.redy'\nfor: x\nbudget: {maxUnavailable: x, rate: {count: 1, window: y}}\nsteps: [{reboot: {}}]";
    let diagnostics = compile(&with(lines)).unwrap_err();
    let fields: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.field.as_str()).collect();
    assert_eq!(
        fields,
        ["spec.when", "spec.for", "spec.steps[0]", "spec.budget.maxUnavailable", "spec.budget.rate.window"]
    );
}

#[test]
fn unknown_fields_are_not_read_at_all() {
    for lines in ["budget: {maxUnavailble: 1}", "mode: enforce", "steps: [{cordon: {}, drian: {}}]", "fro: 5m"] {
        assert!(serde_saphyr::from_str::<RemediationPolicy>(&with(lines)).is_err(), "{lines}");
    }
}
