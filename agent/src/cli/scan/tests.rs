//! When something was found, and what is known of a machine that was not looked at.

use super::*;

fn view(status: &str, reason: &str, daemon: &str, count: u64) -> NodeView {
    let problem = serde_json::json!({
        "id": "0", "reason": "IOError", "severity": "error", "since": "2026-11-21T02:00:00Z",
        "last_seen": "2026-11-21T02:00:00Z", "count": count, "message": "", "source": "kernel-monitor"
    });
    let condition = serde_json::json!({
        "type": "DiskUnhealthy", "status": status, "reason": reason, "message": "",
        "transition": "2026-11-21T02:00:00Z", "problems": [problem]
    });
    let node = serde_json::json!({
        "node": "node-1", "conditions": [condition], "daemons": [{"name": "disk@root", "state": daemon, "records": count}],
        "apiserver": {"state": "disabled", "last_success": null}
    });
    serde_json::from_value(node).unwrap()
}

#[test]
fn what_is_counted_again_is_nothing_new() {
    let first = view("True", "IOError", "running", 1);
    assert!(is_same(&first, &view("True", "IOError", "running", 9)));
    for other in [
        view("False", "IOError", "running", 1),
        view("True", "Other", "running", 1),
        view("True", "IOError", "blind", 1),
    ] {
        assert!(!is_same(&first, &other));
    }
    assert!(!is_same(&first, &NodeView { conditions: Vec::new(), ..first.clone() }));
}

#[test]
fn what_was_not_looked_at_is_no_health_and_hides_no_problem() {
    let missing = [Missing { name: "disk".to_owned(), release: None }];
    let (well, sick) = (view("False", "DiskIsHealthy", "running", 1), view("True", "IOError", "running", 1));
    assert_eq!(health(&well, &[]), NodeHealth::Healthy);
    assert_eq!(health(&well, &missing), NodeHealth::Unknown);
    assert_eq!(health(&sick, &missing), NodeHealth::Problem);
}
