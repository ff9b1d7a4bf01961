//! What a drain waits for, reported while it waits: it may last for an hour, and a person could help.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{
    action::EventDraft,
    drain::PodWait,
    facts::PodRef,
    message::{Message, MessageArgs},
    time::Moment,
};

/// Budgets let pods go one after the other, and ends take their grace: what is over within this is no news.
const FIRST: Duration = Duration::from_secs(30);
/// Between two reports of one drain.
const AGAIN: Duration = Duration::from_secs(300);
/// The same message is emitted again, for the API server forgets Events after an hour.
const REPEAT: Duration = Duration::from_secs(1800);

#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Since when each pod stands in the way.
    since: BTreeMap<PodRef, Moment>,
    reported: Option<Reported>,
}

#[derive(Debug)]
struct Reported {
    at: Moment,
    waits: Vec<PodWait>,
}

impl Waits {
    /// What is to be reported now that these stand in the way.
    pub(super) fn news(&mut self, mut waits: Vec<PodWait>, now: Moment) -> Option<EventDraft> {
        let known = std::mem::take(&mut self.since);
        let since = |wait: &PodWait| known.get(&wait.pod).copied().unwrap_or(now);
        self.since = waits.iter().map(|wait| (wait.pod.clone(), since(wait))).collect();
        waits.retain(|wait| now.since(since(wait)) >= FIRST);
        if waits.is_empty() || self.reported.as_ref().is_some_and(|reported| reported.covers(&waits, now)) {
            return None;
        }
        let pods: Vec<String> = waits.iter().map(ToString::to_string).collect();
        let args: MessageArgs<'_> = &[("count", &pods.len()), ("pods", &pods.join("; "))];
        let event = EventDraft::normal(Message::of("DrainWaits", args));
        self.reported = Some(Reported { at: now, waits });
        Some(event)
    }
}

impl Reported {
    fn covers(&self, waits: &[PodWait], now: Moment) -> bool {
        now.since(self.at) < if self.waits == waits { REPEAT } else { AGAIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is `namespace/name: why`.
    fn wait(line: &str) -> PodWait {
        let (pod, why) = line.split_once(": ").unwrap();
        let (namespace, name) = pod.split_once('/').unwrap();
        let pod = PodRef { namespace: namespace.into(), name: name.into(), uid: format!("uid-{name}") };
        PodWait { pod, why: why.into() }
    }

    fn news(waits: &mut Waits, lines: &[&str], at: u64) -> Option<String> {
        let lines = lines.iter().copied().map(wait).collect();
        waits.news(lines, Moment(Duration::from_secs(at))).map(|event| event.message)
    }

    #[test]
    fn a_lasting_wait_is_reported_again_when_it_changes_or_is_forgotten() {
        let mut waits = Waits::default();
        let (a, b) = ("shop/a: not now", "shop/b: not now");
        assert_eq!(news(&mut waits, &[a], 0), None);
        assert_eq!(news(&mut waits, &[a], 29), None);
        assert_eq!(
            news(&mut waits, &["shop/a: by web", b], 30).as_deref(),
            Some("the drain waits for pods (1): shop/a: by web")
        );
        assert_eq!(news(&mut waits, &[a, b], 329), None);
        assert_eq!(
            news(&mut waits, &[a, b], 330).as_deref(),
            Some("the drain waits for pods (2): shop/a: not now; shop/b: not now")
        );
        assert_eq!(news(&mut waits, &[a, b], 2129), None);
        assert!(news(&mut waits, &[a, b], 2130).is_some());
    }

    #[test]
    fn one_pod_after_the_other_is_no_news() {
        let mut waits = Waits::default();
        for (at, pod) in (0..100).map(|at| (at, format!("shop/p{}: not now", at / 20))) {
            assert_eq!(news(&mut waits, &[&pod], at), None);
        }
    }
}
