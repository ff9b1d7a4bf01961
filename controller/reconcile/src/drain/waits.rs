//! What a drain waits for, reported while it waits: it may last for an hour, and a person could help.

use std::{collections::BTreeMap, time::Duration};

use nodewell_remediation::{action::EventDraft, time::Moment};

/// Budgets let pods go one after the other, and ends take their grace: what is over within this is no news.
const FIRST: Duration = Duration::from_secs(30);
/// Between two reports of one drain.
const AGAIN: Duration = Duration::from_secs(300);
/// The same message is emitted again, for the API server forgets Events after an hour.
const REPEAT: Duration = Duration::from_secs(1800);

#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Since when each pod (`namespace/name`) stands in the way.
    since: BTreeMap<String, Moment>,
    reported: Option<(Moment, Vec<String>)>,
}

impl Waits {
    /// What is to be reported now that these stand in the way, each `namespace/name: why`.
    pub(super) fn news(&mut self, mut lines: Vec<String>, now: Moment) -> Option<EventDraft> {
        let pod = |line: &String| line.split(": ").next().unwrap_or_default().to_owned();
        let known = std::mem::take(&mut self.since);
        self.since = lines.iter().map(pod).map(|pod| (pod.clone(), known.get(&pod).copied().unwrap_or(now))).collect();
        lines.retain(|line| self.since.get(&pod(line)).is_some_and(|since| now.since(*since) >= FIRST));
        if lines.is_empty() || self.reported.as_ref().is_some_and(|reported| is_reported(reported, &lines, now)) {
            return None;
        }
        let event = EventDraft::normal("DrainWaits", format!("for {}", lines.join("; ")));
        self.reported = Some((now, lines));
        Some(event)
    }
}

fn is_reported((at, reported): &(Moment, Vec<String>), lines: &[String], now: Moment) -> bool {
    now.since(*at) < if reported == lines { REPEAT } else { AGAIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(waits: &mut Waits, lines: &[&str], at: u64) -> Option<String> {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        waits.news(lines, Moment(Duration::from_secs(at))).map(|event| event.message)
    }

    #[test]
    fn a_lasting_wait_is_reported_again_when_it_changes_or_is_forgotten() {
        let mut waits = Waits::default();
        let (a, b) = ("shop/a: not now", "shop/b: not now");
        assert_eq!(news(&mut waits, &[a], 0), None);
        assert_eq!(news(&mut waits, &[a], 29), None);
        assert_eq!(news(&mut waits, &["shop/a: by web", b], 30).as_deref(), Some("for shop/a: by web"));
        assert_eq!(news(&mut waits, &[a, b], 329), None);
        assert_eq!(news(&mut waits, &[a, b], 330).as_deref(), Some("for shop/a: not now; shop/b: not now"));
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
