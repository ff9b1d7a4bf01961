//! How a leader whose own host needs remediation finds a successor: two annotations of the Lease, which every candidate
//! reads anyway. The leader asks in its renewals, a standby whose own host is well answers once, and only then does the
//! leader let go. Both name the term: an answer to an older one is none.

use std::time::Duration;

use nodewell_remediation::time::Moment;

use super::{Candidate, Held};
use crate::cluster::{Election, Leadership};

/// Written by the leader: the term for which it wants a successor.
const WANTED: &str = "nodewell.dev/successor-wanted";
/// Written by a standby: the term that it answers, and its identity.
const OFFERED: &str = "nodewell.dev/successor";

/// A successor that is there answers within two of its looks at the Lease. After so long without an answer there is none.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// A leader in need brings what it has begun to its end, for no longer than this.
const FINISHING: Duration = Duration::from_secs(30);
/// From the end of a term to the release of its Lease: what hangs on the term is dropped in between, and agents with it.
const ENDING: Duration = Duration::from_millis(500);

impl<C: Election> Candidate<'_, C> {
    pub(super) fn is_in_need(&self) -> bool {
        self.cache.with(|snapshot| snapshot.host.in_need)
    }

    /// It sees the cluster, its host is well, and it would take this Lease at once.
    pub(super) fn can_succeed(&self, lease: &Leadership) -> bool {
        let is_well = self.cache.with(|snapshot| snapshot.host.synced && !snapshot.host.in_need);
        is_well && !self.is_past(lease) && self.cache.newest_epoch().is_some()
    }

    /// The leader sees it when it renews, which it does from this version on. Another's answer does as well.
    pub(super) async fn offer(&mut self, mut lease: Leadership) {
        offer(&mut lease, &self.terms.identity);
        match self.write(&lease).await {
            Ok(lease) => {
                tracing::info!(leader = lease.holder, "offers to lead, for the leader's host needs remediation")
            }
            Err(error) => tracing::debug!(%error, "this replica could not offer to lead"),
        }
    }

    /// Resigns for the sake of this host, if another replica has offered to lead. What is under way has a while to end.
    pub(super) async fn hand_over(&mut self) {
        let now = self.clock.moment();
        let is_busy = self.cache.with(|snapshot| !snapshot.busy.is_empty());
        let may_end = |answered: Moment| !is_busy || now.since(answered) >= FINISHING;
        if !self.held.as_ref().and_then(|held| held.answered).is_some_and(may_end) {
            return;
        }
        let Some(Held { lease, until, .. }) = self.end("its own host needs remediation, and another replica can lead")
        else {
            return;
        };
        drop(until);
        tokio::time::sleep(ENDING).await;
        self.release(lease).await;
    }

    /// As the Lease shows it. That no other replica has answered for a while is reported to what decides.
    pub(super) fn look_for_successor(&mut self) {
        let (now, in_need) = (self.clock.moment(), self.is_in_need());
        let Some(held) = &mut self.held else { return };
        if in_need {
            held.asked.get_or_insert(now);
        } else {
            held.asked = None;
        }
        held.answered = match (in_need && is_answered(&held.lease), held.answered) {
            (true, known) => known.or(Some(now)),
            (false, _) => None,
        };
        let is_late = held.asked.is_some_and(|asked| now.since(asked) >= ANSWER_TIME);
        let is_only = is_late && held.answered.is_none();
        self.cache.set_host(|host| host.is_only = is_only);
    }
}

/// The leader of this Lease asks, or asks no more.
pub(super) fn ask(lease: &mut Leadership, is_wanted: bool) {
    if is_wanted {
        lease.annotations.insert(WANTED.to_owned(), lease.transitions.to_string());
    } else {
        forget(lease);
    }
}

/// A new term, or none, has nothing of what the one before asked for.
pub(super) fn forget(lease: &mut Leadership) {
    lease.annotations.remove(WANTED);
    lease.annotations.remove(OFFERED);
}

/// Asked for, and not answered yet.
pub(super) fn is_open(lease: &Leadership) -> bool {
    let is_asked = lease.annotations.get(WANTED) == Some(&lease.transitions.to_string());
    is_asked && !lease.holder.is_empty() && !is_answered(lease)
}

/// This candidate would lead.
pub(super) fn offer(lease: &mut Leadership, identity: &str) {
    lease.annotations.insert(OFFERED.to_owned(), format!("{} {identity}", lease.transitions));
}

/// A candidate has offered itself in this term.
pub(super) fn is_answered(lease: &Leadership) -> bool {
    let term = lease.annotations.get(OFFERED).and_then(|offer| offer.split(' ').next());
    term == Some(lease.transitions.to_string().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(term: u64) -> Leadership {
        Leadership { holder: "a".into(), transitions: term, ..Leadership::default() }
    }

    #[test]
    fn an_answer_is_of_the_term_that_was_asked_for() {
        let mut lease = lease(7);
        assert!(!is_open(&lease));
        ask(&mut lease, true);
        assert!(is_open(&lease) && !is_answered(&lease));
        offer(&mut lease, "b");
        assert!(is_answered(&lease) && !is_open(&lease));
        lease.transitions = 8;
        assert!(!is_answered(&lease) && !is_open(&lease), "of another term");
        ask(&mut lease, true);
        assert!(is_open(&lease), "asked again");
    }

    #[test]
    fn nothing_is_asked_in_a_lease_that_is_free_or_no_more() {
        let mut lease = lease(7);
        ask(&mut lease, true);
        assert!(!is_open(&Leadership { holder: String::new(), ..lease.clone() }));
        offer(&mut lease, "b");
        ask(&mut lease, false);
        assert_eq!(lease.annotations, [].into());
    }
}
