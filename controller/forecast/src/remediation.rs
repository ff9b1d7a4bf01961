//! The controller's own timeline for a failed node, under a policy.

use std::time::Duration;

use serde::Serialize;

use super::{ForecastSettings, Window, maybe_seconds};

/// What a policy would do with this node, as far as times depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remediation {
    pub policy: String,
    /// Silence of the kubelet's Lease that it acts on: `fast.silentFor` if the policy has it, else until Ready is Unknown.
    pub silent_for: Option<Duration>,
    /// `for`: how long its predicate has to hold.
    pub held_for: Duration,
    /// What has to be seen beside the silence, for people: `BMC says OFF`, `unreachable from 2 hosts`.
    pub evidence: Option<String>,
    /// How long turning it off and reading OFF twice may take (`FenceLevel.longest`); nothing if it cannot be fenced.
    pub off: Option<Duration>,
    /// Only pods on this storage may be released: the method cuts it off from that alone.
    pub storage_only: Option<String>,
    /// What blocks it now (dry run, observe, budget …), as reasons.
    pub blockers: Vec<String>,
}

/// When this controller does what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemediationTimeline {
    pub policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The silence is long enough to act on.
    pub silent: Window,
    /// The policy's predicate has held for long enough.
    pub begins: Window,
    /// Power confirmed off; nothing if the node cannot be fenced, or not while something blocks it.
    pub off: Option<Window>,
    /// Out-of-service taint set, pods deleted; nothing if that will not be, as things stand.
    pub released: Option<Window>,
    #[serde(rename = "offLongestSeconds", serialize_with = "maybe_seconds")]
    pub longest: Option<Duration>,
    /// Why none of it happens now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
}

/// Two reads of OFF, one after the other, are a second apart at least.
const READS: Duration = Duration::from_secs(1);
/// From the taint to the last pod's deletion: two requests, and one for each pod.
const RELEASE: Duration = Duration::from_secs(2);

impl RemediationTimeline {
    pub(super) fn of(remediation: &Remediation, settings: &ForecastSettings) -> Self {
        let renewal = settings.lease_duration / 4;
        let silent = match remediation.silent_for {
            Some(silence) => Window::new(silence.saturating_sub(renewal), silence),
            None => {
                let grace = settings.monitor_grace;
                Window::new(grace.saturating_sub(renewal), grace.saturating_add(settings.monitor_period))
            }
        };
        let begins = silent.later(remediation.held_for);
        // What is blocked has no time: it begins when a person, another node or a window allows it.
        let off = remediation.off.filter(|_| remediation.blockers.is_empty());
        let off = off.map(|longest| begins.plus(Window::new(READS, longest)));
        let released = off.map(|off| off.plus(Window::new(Duration::ZERO, RELEASE)));
        Self {
            policy: remediation.policy.clone(),
            evidence: remediation.evidence.clone(),
            silent,
            begins,
            off,
            released,
            longest: remediation.off,
            blockers: remediation.blockers.clone(),
        }
    }
}
