//! When a look goes on, and what it names at its end.

use std::time::Duration;

use super::*;

/// A node with one condition and these daemons: name, state, and whether a full report was sent.
fn view(reason: &str, daemons: &[(&str, &str, bool)]) -> NodeView {
    let daemon = |(name, state, full): &(&str, &str, bool)| serde_json::json!({"name": name, "state": state, "records": 1, "lost": 0, "full": full});
    let condition = serde_json::json!({
        "type": "DiskUnhealthy", "status": "False", "reason": reason, "message": "",
        "transition": "2026-11-21T02:00:00Z"
    });
    let daemons: Vec<_> = daemons.iter().map(daemon).collect();
    let node = serde_json::json!({
        "node": "node-1", "conditions": [condition], "daemons": daemons,
        "apiserver": {"state": "disabled", "last_success": null}
    });
    serde_json::from_value(node).unwrap()
}

fn expected(folder: &Path) -> Expected {
    let reporters = vec![(Group::Disk, "disk".to_owned()), (Group::Check, "mounts".to_owned())];
    Expected { reporters, release_socket: folder.join("socket") }
}

fn names(missing: &[Missing]) -> Vec<&str> {
    missing.iter().map(|one| one.name.as_str()).collect()
}

const ALL: [(&str, &str, bool); 3] =
    [("disk@root", "running", true), ("mounts@root", "blind", true), ("kernel-monitor", "blind", false)];

#[test]
fn a_look_goes_on_until_every_reporter_has_sent_a_full_report() {
    let folder = tempfile::tempdir().unwrap();
    let expected = expected(folder.path());
    let all = view("DiskIsHealthy", &ALL);
    assert!(!expected.is_awaited(&all));
    assert!(expected.is_awaited(&view("MonitorStarting", &ALL)));
    assert!(expected.is_awaited(&NodeView { conditions: Vec::new(), ..all }));
    for (daemons, name) in [
        ([ALL[0], ALL[2], ALL[2]], "mounts"),
        ([("disk@root", "running", false), ALL[1], ALL[2]], "disk"),
        ([ALL[0], ALL[1], ("kernel-monitor", "starting", false)], "kernel-monitor"),
    ] {
        let view = view("DiskIsHealthy", &daemons);
        assert!(expected.is_awaited(&view), "{name}");
        assert_eq!(names(&expected.missing(&view)), [name]);
    }
    // One that no configuration names, such as a plug-in's of a file that came since.
    let more = view("DiskIsHealthy", &[ALL[0], ALL[1], ("fans@root", "running", false)]);
    assert_eq!(names(&expected.missing(&more)), ["fans"]);
}

#[test]
fn released_devices_are_not_waited_for_and_named_with_the_end_of_their_release() {
    let folder = tempfile::tempdir().unwrap();
    let expected = expected(folder.path());
    let view = view("DiskIsHealthy", &[("disk@root", "running", false), ALL[1]]);
    assert!(expected.is_awaited(&view));
    ReleaseFile::of(&expected.release_socket, Group::Disk).write(Duration::from_secs(600)).unwrap();
    assert!(!expected.is_awaited(&view));
    let missing = expected.missing(&view);
    let warned = warnings(&missing);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("disk is released until"), "{warned:?}");
}

#[test]
fn what_is_missing_is_shown_as_starting() {
    let mut view = view("DiskIsHealthy", &[("disk@root", "running", false)]);
    let missing = ["disk", "mounts"].map(|name| Missing { name: name.to_owned(), release: None });
    mark(&mut view, &missing);
    let shown: Vec<(&str, DaemonState)> = view.daemons.iter().map(|one| (one.name.as_str(), one.state)).collect();
    assert_eq!(shown, [("disk@root", DaemonState::Starting), ("mounts", DaemonState::Starting)]);
    assert_eq!(view.daemons[1].reason, "MonitorStarting");
    assert_eq!(warnings(&missing), ["not all was looked at in time, so it is unknown: disk, mounts (see --timeout)"]);
}
