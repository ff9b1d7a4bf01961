//! Services that report over the socket, known by their units.

use std::{fmt::Write as _, thread};

use nodewell_tests::{suite::leave_out, wait::until};

use super::Node;

/// The unit that the configuration of this case has a grant for.
const GRANTED: &str = "raid-monitor.service";
/// root may report without a grant.
const NOBODY: &[&str] = &["User=nobody"];
/// Reported at 100 a second, while the agent is restarted.
const REPORTS: usize = 600;

/// `curl`, for a report that lies in a file.
fn post(node: &Node, unit: &str, report: &str) -> String {
    node.machine.write("/run/report.json", report);
    let curl = "curl -sS -i --unix-socket /run/nodewell/nodewell.sock -H 'Content-Type: application/json' \
                -d @/run/report.json http://localhost/v1/status";
    let outcome = node.machine.as_unit(unit, NOBODY, curl);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome.stdout
}

fn report(rest: &str) -> String {
    format!("{{\"source\": \"raid\", {rest}}}")
}

fn degraded() -> String {
    let now = jiff::Timestamp::now();
    let condition = format!(
        "{{\"type\": \"TestUnhealthy\", \"status\": true, \"reason\": \"RaidDegraded\", \"subject\": \"md0\", \
         \"transition\": \"{now}\", \"message\": \"md0 runs on one disk\"}}"
    );
    report(&format!("\"full\": true, \"conditions\": [{condition}]"))
}

fn has_problem(node: &Node) -> bool {
    let condition = node.machine.condition("TestUnhealthy");
    condition.is_some_and(|one| one.problems.iter().any(|problem| problem.subject.as_deref() == Some("md0")))
}

/// 202 is one that is taken, and not saved yet.
fn is_taken(answer: &str) -> bool {
    answer.contains(" 200 ") || answer.contains(" 202 ")
}

pub(super) fn a_grant_counts(node: &Node) {
    let refused = post(node, "impostor.service", &degraded());
    assert!(refused.contains(" 403 ") && refused.contains("[[grant]]"), "{refused}");
    assert!(refused.contains("impostor.service"), "{refused}");
    assert!(!has_problem(node));
    let taken = post(node, GRANTED, &degraded());
    assert!(is_taken(&taken), "{taken}");
    until("the report turns the condition", || has_problem(node).then_some(()));
    let reported = node.machine.as_unit("other.service", &["User=nobody"], "nodewell status");
    assert!(reported.stdout.contains("impostor.service"), "who was refused is shown: {}", reported.stdout);
    let last = post(node, GRANTED, &report("\"last\": true"));
    assert!(is_taken(&last), "{last}");
    until("its last report ends what it reported", || (!has_problem(node)).then_some(()));
}

/// 100 reports a second, each with an event of its own, by one client that connects again when it must.
pub(super) fn a_restart_loses_no_report(node: &Node) {
    let machine = &node.machine;
    if machine.sh("curl --help all | grep -e --rate || true").is_empty() {
        leave_out("booted_service: a_restart_loses_no_report", "this release's curl cannot send at a rate");
        return;
    }
    machine.write("/run/reports", transfers());
    let codes = thread::scope(|scope| {
        let reporter = scope.spawn(|| machine.as_unit(GRANTED, NOBODY, "curl -sS --rate 100/s -K /run/reports"));
        for count in [100, 250, 400] {
            until("reports arrive", || (seen(node).len() >= count || reporter.is_finished()).then_some(()));
            machine.sh("systemctl restart nodewell.service");
        }
        reporter.join().unwrap()
    });
    assert_eq!(codes.code, 0, "{codes:?}");
    let answered: Vec<&str> = codes.stdout.lines().filter(|line| line.len() == 3).collect();
    let taken = answered.iter().filter(|code| matches!(**code, "200" | "202")).count();
    assert_eq!((taken, answered.len()), (REPORTS, REPORTS), "no report is refused: {answered:?}");
    // What was acknowledged is in the journal, of whichever process.
    until("every report is in the journal", || (seen(node).len() == REPORTS).then_some(()));
}

fn transfers() -> String {
    let now = jiff::Timestamp::now();
    let mut text = String::new();
    for number in 0..REPORTS {
        let event = format!(
            "{{'severity': 'warn', 'timestamp': '{now}', 'reason': 'RaidEvent', 'message': 'event {number}', 'subject': 's{number}'}}"
        );
        let body = format!("{{'source': 'raid', 'id': 'r{number}', 'events': [{event}]}}").replace('\'', "\\\"");
        let separator = if number == 0 { "" } else { "next\n" };
        let _ = write!(
            text,
            "{separator}unix-socket = \"/run/nodewell/nodewell.sock\"\nurl = \"http://localhost/v1/status\"\n\
             header = \"Content-Type: application/json\"\ndata = \"{body}\"\noutput = \"/dev/null\"\n\
             write-out = \"%{{http_code}}\\n\"\n"
        );
    }
    text
}

/// The subjects of the reported events in the journal, each once.
fn seen(node: &Node) -> std::collections::BTreeSet<String> {
    let found = node
        .machine
        .sh("journalctl --no-pager -u nodewell -o cat --output-fields NODEWELL_SUBJECT NODEWELL_REASON=RaidEvent");
    found.lines().map(str::to_owned).collect()
}
