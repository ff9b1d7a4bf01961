//! A ledger as one would write it to be sure: flat lists, every question answered by looking at everything, time
//! passing second by second.

use std::collections::BTreeMap;

use nodewell_model::ProblemKey;

use super::{
    steps::{CONDITIONS, Deed},
    *,
};

#[derive(Debug, Clone)]
struct Held {
    key: ProblemKey,
    source: String,
    test: bool,
    since: Timestamp,
    last_seen: Timestamp,
    count: u64,
    severity: Severity,
    ends: Option<Duration>,
}

#[derive(Debug, Clone)]
struct Watcher {
    name: String,
    state: DaemonState,
    watches: Vec<Name>,
    ends: Option<Duration>,
    silent_since: Option<Timestamp>,
}

/// (status, since), and the last transition that a record made.
type Shown = (Option<ConditionStatus>, Option<Timestamp>, Option<Timestamp>);

#[derive(Debug, Default)]
pub(super) struct Oracle {
    held: Vec<Held>,
    watchers: Vec<Watcher>,
    shown: BTreeMap<Name, Shown>,
    /// What was healthy before a watcher began to start, until its status is known again: that start is no transition.
    healthy_before: BTreeMap<Name, Shown>,
    pub(super) raised: BTreeMap<Name, u64>,
}

/// What is compared of a problem.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) key: ProblemKey,
    pub(super) severity: Severity,
    pub(super) times: (Timestamp, Timestamp),
    pub(super) count: u64,
    pub(super) unconfirmed_since: Option<Timestamp>,
    pub(super) test: bool,
}

pub(super) fn oracle(deeds: &[(Deed, Now)]) -> Oracle {
    let mut oracle = Oracle::default();
    let mut before = at(0).boottime;
    for (deed, now) in deeds {
        match deed {
            Deed::Finding(finding) => oracle.finding(finding, *now),
            Deed::ByHand(request) => oracle.strike(now.wall, |held| {
                held.key.condition == request.condition
                    && request.reason.as_ref().is_none_or(|reason| held.key.reason == *reason)
                    && (request.subject.is_none() || held.key.subject == request.subject)
            }),
            Deed::Daemon(report) => oracle.daemon(report, *now),
            Deed::Retire(source) => {
                oracle.watchers.retain(|watcher| watcher.name != *source);
                oracle.strike(now.wall, |held| held.source == *source);
                oracle.judge(now.wall, false);
            }
            Deed::Wait => {
                let passed = (before.as_secs()..=now.boottime.as_secs()).map(Duration::from_secs);
                passed.for_each(|second| oracle.second(second, now.wall_at(second)));
            }
        }
        before = now.boottime;
    }
    oracle
}

impl Oracle {
    fn finding(&mut self, finding: &Finding, now: Now) {
        let time = finding.time.min(now.wall);
        let key = finding.key().unwrap();
        let mine = |held: &Held| held.source == *finding.source && held.test == finding.test;
        if finding.kind == FindingKind::Clear {
            return self.strike(time, |held| {
                let same = (&held.key.condition, &held.key.reason) == (&key.condition, &key.reason);
                mine(held) && same && (key.subject.is_none() || held.key.subject == key.subject)
            });
        }
        let last_seen = finding.last_time.min(now.wall);
        let age = now.wall.as_second() - last_seen.as_second();
        let quiet = finding.ends_after_quiet.map(|quiet| i64::try_from(quiet.as_secs()).unwrap() - age);
        let left = if finding.test { Some(60) } else { quiet };
        if left.is_some_and(|left| left <= 0) || (finding.ends_at_boot && finding.boot_id != boot(BOOT)) {
            return;
        }
        *self.raised.entry(finding.reason.clone()).or_default() += finding.count;
        let ends = left.map(|left| now.boottime + Duration::from_secs(u64::try_from(left).unwrap()));
        let new = Held {
            source: finding.source.to_string(),
            test: finding.test,
            since: time,
            last_seen,
            count: finding.count,
            severity: finding.severity,
            ends,
            key,
        };
        let old = self.held.iter().position(|held| mine(held) && held.key == new.key);
        let new = old.map(|old| again(&self.held.remove(old), &new)).unwrap_or(new);
        self.held.push(new);
        self.judge(time, true);
    }

    /// Takes out what is `over`, dated at `time`.
    fn strike(&mut self, time: Timestamp, over: impl Fn(&Held) -> bool) {
        let touched: Vec<_> =
            self.held.iter().filter(|held| over(held)).map(|held| held.key.condition.clone()).collect();
        self.held.retain(|held| !over(held));
        touched.iter().for_each(|condition| self.judge_one(condition, time, true));
    }

    fn daemon(&mut self, report: &DaemonReport, now: Now) {
        let old = self.watchers.iter().position(|watcher| *watcher.name == *report.name);
        let old = old.map(|old| self.watchers.remove(old));
        let silent = !matches!(report.state, DaemonState::Running | DaemonState::Starting);
        let silent_since = silent.then(|| old.and_then(|old| old.silent_since).unwrap_or(now.wall));
        let ends = if report.state == DaemonState::Dead { None } else { report.ttl.map(|ttl| now.boottime + ttl) };
        let (name, watches) = (report.name.to_string(), report.watches.clone());
        self.watchers.push(Watcher { name, state: report.state, watches, ends, silent_since });
        self.judge(now.wall, false);
    }

    fn second(&mut self, second: Duration, time: Timestamp) {
        self.strike(time, |held| held.ends == Some(second));
        for watcher in self.watchers.iter_mut().filter(|watcher| watcher.ends == Some(second)) {
            watcher.state = DaemonState::Stale;
            watcher.silent_since.get_or_insert(time);
        }
        self.judge(time, false);
    }

    fn judge(&mut self, time: Timestamp, by_record: bool) {
        CONDITIONS.map(Name::fixed).iter().for_each(|condition| self.judge_one(condition, time, by_record));
    }

    /// Looks at a condition again; only a changed status moves its times.
    fn judge_one(&mut self, condition: &Name, time: Timestamp, by_record: bool) {
        let status = self.status(condition);
        let before = self.shown.get(condition).copied().unwrap_or_default();
        match status {
            Some(ConditionStatus::False) => {
                if let Some(healthy) = self.healthy_before.remove(condition) {
                    self.shown.insert(condition.clone(), healthy);
                    return;
                }
            }
            Some(ConditionStatus::True) => _ = self.healthy_before.remove(condition),
            Some(ConditionStatus::Unknown) if !self.only_starts(condition) => _ = self.healthy_before.remove(condition),
            Some(ConditionStatus::Unknown) if before.0 == Some(ConditionStatus::False) => {
                self.healthy_before.entry(condition.clone()).or_insert(before);
            }
            Some(ConditionStatus::Unknown) | None => {}
        }
        let (shown, since, floor) = self.shown.entry(condition.clone()).or_default();
        if *shown == status {
            return;
        }
        *shown = status;
        let not_before = if by_record { *floor } else { *since };
        *since = Some(not_before.map_or(time, |bound| bound.max(time)));
        if by_record {
            *floor = *since;
        }
    }

    fn only_starts(&self, condition: &Name) -> bool {
        let mut watchers = self.watchers.iter().filter(|watcher| watcher.watches.contains(condition));
        watchers.all(|watcher| matches!(watcher.state, DaemonState::Starting | DaemonState::Running))
    }

    fn status(&self, condition: &Name) -> Option<ConditionStatus> {
        let states: Vec<_> = self.watchers.iter().filter(|w| w.watches.contains(condition)).map(|w| w.state).collect();
        if self.held.iter().any(|held| held.key.condition == *condition) {
            Some(ConditionStatus::True)
        } else if states.is_empty() {
            None
        } else if states.iter().any(|state| *state != DaemonState::Running) {
            Some(ConditionStatus::Unknown)
        } else {
            Some(ConditionStatus::False)
        }
    }

    /// What is listed of `condition`: status and since.
    pub(super) fn shown(&self, condition: &Name) -> Option<(ConditionStatus, Timestamp)> {
        let (status, since, _) = self.shown.get(condition).copied().unwrap_or_default();
        Some((status?, since?))
    }

    /// The problems of `condition`, worst first, then oldest, then by name.
    pub(super) fn problems(&self, condition: &Name) -> Vec<Seen> {
        let mut keys: Vec<_> = self.held.iter().map(|held| &held.key).filter(|k| k.condition == *condition).collect();
        keys.sort();
        keys.dedup();
        let mut seen: Vec<_> = keys.into_iter().map(|key| self.problem(key)).collect();
        seen.sort_by_key(|seen| (std::cmp::Reverse(seen.severity), seen.times.0));
        seen
    }

    fn problem(&self, key: &ProblemKey) -> Seen {
        let all = || self.held.iter().filter(|held| held.key == *key);
        let test = all().all(|held| held.test);
        let claims: Vec<_> = all().filter(|held| held.test == test).collect();
        let silence = |held: &&Held| self.watchers.iter().find(|w| w.name == held.source)?.silent_since;
        let silences: Vec<_> = claims.iter().map(silence).collect();
        let all_silent = silences.iter().all(Option::is_some);
        Seen {
            key: key.clone(),
            severity: claims.iter().map(|held| held.severity).max().unwrap(),
            times: (
                claims.iter().map(|held| held.since).min().unwrap(),
                claims.iter().map(|held| held.last_seen).max().unwrap(),
            ),
            count: claims.iter().map(|held| held.count).sum(),
            unconfirmed_since: silences.into_iter().max().flatten().filter(|_| all_silent),
            test,
        }
    }
}

/// One claim reported twice. A record that is older than one seen before does not shorten its life.
fn again(old: &Held, new: &Held) -> Held {
    let late = new.last_seen < old.last_seen;
    let longer = if old.ends.is_none() || new.ends.is_none() { None } else { old.ends.max(new.ends) };
    Held {
        since: old.since.min(new.since),
        last_seen: old.last_seen.max(new.last_seen),
        count: old.count + new.count,
        severity: old.severity.max(new.severity),
        ends: if late { longer } else { new.ends },
        ..new.clone()
    }
}
