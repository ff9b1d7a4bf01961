//! Every error is reported at once, with its file and line, and nothing is started.

use nodewell_tests::{agent::Plan, cli::nodewelld, suite::Suite};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("bad_config")
        .case("errors_of_the_config_have_lines", errors_of_the_config_have_lines)
        .case("errors_of_the_rules_have_lines", errors_of_the_rules_have_lines)
        .case("errors_of_an_npd_config_have_lines", errors_of_an_npd_config_have_lines)
        .case("wrong_usage_is_no_config_error", wrong_usage_is_no_config_error);
}

const BAD_RULES: &str = r#"[[rule]]
reason = "First"
type = "temporary"
source = "kmsg"
severity = "loud"
pattern = '^broken ('
matches = ["broken"]
colour = "red"

[[rule]]
reason = "Second"
type = "permanent"
condition = "NobodyKnowsIt"
source = "kmsg"
severity = "warn"
pattern = '^second'
clears = { boot = true }
matches = ["something else"]
"#;

/// Runs until it refuses; gives its output.
fn refused(plan: &Plan) -> String {
    let outcome = nodewelld(plan.args());
    assert_eq!(outcome.code, 78, "{outcome:?}");
    outcome.stderr
}

fn expect_lines(output: &str, file: &std::path::Path, lines: &[usize]) {
    for line in lines {
        let place = format!("{}:{line}: ", file.display());
        assert!(output.lines().any(|one| one.starts_with(&place)), "nothing about {place}in:\n{output}");
    }
}

fn errors_of_the_config_have_lines() {
    let plan = Plan::default();
    let file =
        plan.file("nodewell.toml", "node-nam = \"a\"\n[kmsg]\nfacilities = [99]\n[journal]\nlookback = \"soon\"\n");
    expect_lines(&refused(&plan), &file, &[1, 3, 5]);
}

fn errors_of_the_rules_have_lines() {
    let plan = Plan::default().rules(BAD_RULES);
    let file = plan.folder().join("rules/test.toml");
    expect_lines(&refused(&plan), &file, &[5, 6, 8, 13]);
}

fn errors_of_an_npd_config_have_lines() {
    let plan = Plan::default();
    let bad = "{\n \"plugin\": \"kmsg\",\n \"rules\": [\n  {\"type\": \"temporary\", \"reason\": \"A\", \"pattern\": \"(\"}\n ]\n}\n";
    let file = plan.file("bad.json", bad);
    let plan = plan.flag("--npd-config", &file);
    expect_lines(&refused(&plan), &file, &[4]);
}

fn wrong_usage_is_no_config_error() {
    let outcome = nodewelld(["--no-such-flag"]);
    assert_eq!(outcome.code, 64, "{outcome:?}");
}
