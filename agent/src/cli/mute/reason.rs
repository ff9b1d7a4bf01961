//! Whether a reason that is to be muted is known here: it may be a slip of the fingers, or a daemon's that comes later.

use std::io::{self, Write};

use nodewell_client::Client;
use nodewell_model::{MuteKey, Name, view::NodeView};
use nodewell_rules::{explain::nearest_word, load};

use crate::cli::{
    error::{CommandError, USAGE},
    explain::{Names, names},
    rules::RuleChoice,
};

/// For a daemon that calls its reason like its condition.
const BOTH: &str = "one of that very name is muted with --condition";

/// What is known here of a reason before it is muted.
#[derive(Debug, PartialEq)]
pub(super) enum Standing {
    Known,
    /// The mute holds all the same; how to warn of it.
    Unknown(String),
}

impl Standing {
    /// # Errors
    /// If the first word of `key` is a condition's name, and that condition has reasons of other names.
    pub(super) async fn of(client: &Client, key: &MuteKey) -> Result<Self, CommandError> {
        // An agent that does not answer refuses the mute itself: there is only less to compare with.
        let view: Option<NodeView> = client.get("/v1/status").await.ok();
        if is_present(&key.reason, view.as_ref()) {
            return Ok(Self::Known);
        }
        // Rules with errors are left out: `nodewell check` reports them.
        let known = names(&load(&RuleChoice::installed().plan()).set);
        judge(key, &known, view.as_ref()).map_err(|refusal| CommandError::new(USAGE, refusal))
    }

    pub(super) fn warn(&self) {
        if let Self::Unknown(warning) = self {
            // Without stderr there is nowhere to write to.
            let _ = writeln!(io::stderr(), "warning: {warning}");
        }
    }
}

fn is_present(reason: &Name, view: Option<&NodeView>) -> bool {
    let mut problems = view.into_iter().flat_map(|view| &view.conditions).flat_map(|one| &one.problems);
    problems.any(|problem| problem.reason == *reason)
}

fn judge(key: &MuteKey, known: &Names, view: Option<&NodeView>) -> Result<Standing, String> {
    let MuteKey { reason, condition, .. } = key;
    if known.reasons.contains(reason) || is_present(reason, view) {
        return Ok(Standing::Known);
    }
    let conditions = || view.into_iter().flat_map(|view| &view.conditions);
    let held = conditions().find(|one| one.condition == *reason);
    if held.is_some() || known.conditions.contains(reason) {
        let text = format!("{reason} is a condition; a mute takes a reason of it");
        let present = held.and_then(|one| one.problems.first());
        return match present {
            // Beside a condition the first word is meant as a reason. A daemon may call both alike.
            _ if condition.is_some() => Ok(Standing::Unknown(text)),
            Some(problem) => Err(format!("{text}, such as {} ({BOTH})", problem.reason)),
            None if known.turned.contains(reason) => Err(format!("{text}: see `nodewell explain {reason}` ({BOTH})")),
            None => Ok(Standing::Unknown(text)),
        };
    }
    let present = conditions().flat_map(|one| &one.problems).map(|problem| &problem.reason);
    let near = nearest_word(reason.as_str(), present.chain(&known.reasons).map(Name::as_str));
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Ok(Standing::Unknown(format!("no rule and no present problem has the reason {reason}{near}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slip_and_a_condition_are_named() {
        let time = "2026-12-01T08:00:00Z";
        let problem = json!({"id": "1", "reason": "MyDaemonBackendLost", "severity": "error", "since": time,
            "last_seen": time, "count": 1, "message": "", "source": "app@root"});
        let condition = json!({"type": "MyDaemonUnhealthy", "status": "True", "reason": "MyDaemonBackendLost",
            "message": "", "transition": time, "problems": [problem]});
        let view = json!({"node": "n1", "daemons": [], "conditions": [condition],
            "apiserver": {"state": "disabled", "last_success": null}});
        let view: NodeView = serde_json::from_value(view).unwrap();
        let known = Names {
            reasons: vec![Name::fixed("IOError"), Name::fixed("KernelOops")],
            conditions: vec![Name::fixed("DiskUnhealthy"), Name::fixed("RaidProblem")],
            turned: [Name::fixed("DiskUnhealthy")].into(),
        };
        let key = |reason: &str, condition: Option<&str>| MuteKey {
            reason: reason.parse().unwrap(),
            condition: condition.map(|name| name.parse().unwrap()),
            subject: None,
        };
        let judged = |reason: &str, condition: Option<&str>| match judge(&key(reason, condition), &known, Some(&view)) {
            Ok(Standing::Known) => String::new(),
            Ok(Standing::Unknown(warning)) => format!("warning: {warning}"),
            Err(refusal) => refusal,
        };
        for (reason, condition, expected) in [
            ("KernelOops", None, ""),
            ("MyDaemonBackendLost", None, ""),
            (
                "MyDeamonBackendLost",
                None,
                "warning: no rule and no present problem has the reason MyDeamonBackendLost; did you mean \
                 MyDaemonBackendLost?",
            ),
            (
                "SomethingElseAltogether",
                None,
                "warning: no rule and no present problem has the reason SomethingElseAltogether",
            ),
            (
                "MyDaemonUnhealthy",
                None,
                "MyDaemonUnhealthy is a condition; a mute takes a reason of it, such as MyDaemonBackendLost (one of \
                 that very name is muted with --condition)",
            ),
            (
                "DiskUnhealthy",
                None,
                "DiskUnhealthy is a condition; a mute takes a reason of it: see `nodewell explain DiskUnhealthy` (one \
                 of that very name is muted with --condition)",
            ),
            ("RaidProblem", None, "warning: RaidProblem is a condition; a mute takes a reason of it"),
            (
                "DiskUnhealthy",
                Some("DiskUnhealthy"),
                "warning: DiskUnhealthy is a condition; a mute takes a reason of it",
            ),
        ] {
            assert_eq!(judged(reason, condition), expected, "{reason} {condition:?}");
        }
        assert_eq!(judge(&key("IOError", None), &known, None), Ok(Standing::Known));
    }
}
