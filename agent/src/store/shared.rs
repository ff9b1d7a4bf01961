//! What the owners of rows, the writer and the watcher share: the account under a lock, and which thread is woken for
//! what.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use super::{
    SaveError, StoreState,
    account::{Account, End, Request},
    pending::Pending,
};

/// How often an idle writer looks whether the file is still there.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// See above. `shown` is never touched while the account is locked: a holder of a borrow of it may ask for the account.
#[derive(Debug, Default)]
pub(super) struct Shared {
    account: Mutex<Account>,
    writer: Condvar,
    watcher: Condvar,
    shown: watch::Sender<StoreState>,
    ended: watch::Sender<bool>,
}

/// What the writer does next.
#[derive(Debug)]
pub(super) enum Turn {
    Open,
    Answer(Vec<Request>),
    Write(Pending),
    Look,
    End(End),
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the account and wakes the writer, which looks for itself whether there is something to do.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Account) -> T) -> T {
        let mut account = self.lock();
        let before = account.due();
        let changed = change(&mut account);
        // Rows that may wait as long as the ones before them wake no thread.
        if account.due() != before || !account.requests.is_empty() || account.end.is_some() {
            self.writer.notify_one();
        }
        changed
    }

    /// Changes the account and shows how the store is now.
    pub(super) fn change_and_show<T>(&self, change: impl FnOnce(&mut Account) -> T) -> T {
        let changed = change(&mut self.lock());
        self.shown.send_if_modified(|shown| {
            let now = self.lock().state.clone();
            let differs = *shown != now;
            *shown = now;
            differs
        });
        changed
    }

    pub(super) fn watch(&self) -> watch::Receiver<StoreState> {
        self.shown.subscribe()
    }

    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Both threads end; the watcher is notified here.
    pub(super) fn mark_ended(&self) {
        self.lock().end = Some(End::Abandon);
        self.watcher.notify_one();
        self.ended.send_replace(true);
    }

    /// Waits for something to do; with a `retry` the file is closed until then.
    pub(super) fn next(&self, retry: Option<Instant>) -> Turn {
        let look_at = Instant::now() + LOOK_EVERY;
        let mut account = self.lock();
        loop {
            let now = Instant::now();
            if let Some(turn) = turn(&mut account, retry, now) {
                return turn;
            }
            let until = retry.unwrap_or_else(|| account.due().unwrap_or(look_at).min(look_at));
            if retry.is_none() && look_at <= now {
                return Turn::Look;
            }
            let waited = self.writer.wait_timeout(account, until.saturating_duration_since(now));
            account = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Does something that may wait for the disk, under the watcher's eyes.
    pub(super) fn at_work<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lock().work_begins(Instant::now());
        self.watcher.notify_one();
        let done = work();
        if self.change_if_hung() {
            tracing::info!("the state directory answers again");
        }
        done
    }

    fn change_if_hung(&self) -> bool {
        let hung = self.lock().work_ended();
        if hung {
            self.change_and_show(|_| ());
        }
        hung
    }

    /// The watcher: reports it when the disk does not answer. It ends with the store.
    pub(super) fn watch_for_hangs(&self, hangs: &SaveError) {
        let mut account = self.lock();
        while account.end != Some(End::Abandon) {
            let now = Instant::now();
            let waited = match account.hangs_at() {
                None => self.watcher.wait(account).unwrap_or_else(PoisonError::into_inner),
                Some(at) if at > now => {
                    self.watcher.wait_timeout(account, at - now).unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) => {
                    drop(account);
                    tracing::warn!("{}", hangs.message);
                    self.change_and_show(|account| account.hangs(hangs.clone()));
                    self.lock()
                }
            };
            account = waited;
        }
    }
}

fn turn(account: &mut Account, retry: Option<Instant>, now: Instant) -> Option<Turn> {
    if account.end == Some(End::Abandon) {
        return Some(Turn::End(End::Abandon));
    }
    if !account.requests.is_empty() {
        return Some(Turn::Answer(std::mem::take(&mut account.requests)));
    }
    if let Some(end) = account.end {
        return Some(Turn::End(end));
    }
    match retry {
        Some(retry) => (retry <= now).then_some(Turn::Open),
        None => account.due().is_some_and(|due| due <= now).then(|| Turn::Write(account.take())),
    }
}
