//! When a look is over.

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
fn a_look_goes_on_while_a_monitor_has_not_looked() {
    let starts = |view: &NodeView| is_starting(view, &["disk"]);
    let seen = view("False", "DiskIsHealthy", "running", 1);
    assert!(!starts(&seen));
    assert!(!starts(&view("Unknown", "DeviceNotAnswering", "blind", 1)));
    assert!(starts(&view("False", "DiskIsHealthy", "starting", 1)));
    assert!(starts(&view("Unknown", "MonitorStarting", "running", 1)));
    assert!(starts(&NodeView { conditions: Vec::new(), ..seen.clone() }));
    assert!(is_starting(&seen, &["disk", "gpu"]), "a check process that is to come");
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
