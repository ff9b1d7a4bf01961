//! Supervision: every thread and task is named and held here; one that ends unasked is started again with back-off.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    thread::{self, JoinHandle},
    time::Duration,
};

use nodewell_time::Backoff;
use tokio::task::JoinSet;

use crate::runtime::Stop;

/// Enough for a line of 64 KiB and a regex's stack; the default of 2 MiB would be most of our address space.
const THREAD_STACK_BYTES: usize = 512 * 1024;
/// Before something that ended is started again.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// A task of no type of its own. Of what tokio does for a task the program has some kilobytes for each type of them, and all
/// of the program is locked.
pub type LocalTask = Pin<Box<dyn Future<Output = ()>>>;

/// Takes its type from `task`.
#[must_use]
pub fn boxed(task: impl Future<Output = ()> + 'static) -> LocalTask {
    Box::pin(task)
}

/// All that runs beside `main`.
#[derive(Debug)]
pub struct Tasks {
    stop: Stop,
    tasks: JoinSet<&'static str>,
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct Thread {
    name: String,
    stop: Stop,
    handle: JoinHandle<()>,
}

impl Thread {
    fn is_running(&self) -> bool {
        !self.handle.is_finished()
    }
}

/// What a supervised task does at the stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtStop {
    /// It is dropped wherever it waits.
    Drop,
    /// It sees the stop itself and ends once its last reports are sent.
    Finish,
}

/// How one run of a supervised thread ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It returned without having been asked to.
    Unasked,
    Panicked,
}

impl Tasks {
    /// An empty set that ends with `stop`.
    #[must_use]
    pub fn new(stop: Stop) -> Self {
        Self { stop, tasks: JoinSet::new(), threads: Vec::new() }
    }

    /// The signal that ends everything here.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Runs `work` on a thread of its own, again and again until its `stop` is set (by the caller or by
    /// [`Tasks::drain`]); `ended` is called for every unasked end.
    pub fn supervise_thread(
        &mut self,
        name: &str,
        stop: Stop,
        mut work: impl FnMut(&Stop) + Send + 'static,
        mut ended: impl FnMut(Ended) + Send + 'static,
    ) -> std::io::Result<()> {
        let own = stop.clone();
        let body = move || {
            let mut pauses = PAUSES;
            while !stop.is_set() {
                let how = match std::panic::catch_unwind(AssertUnwindSafe(|| work(&stop))) {
                    Ok(()) => Ended::Unasked,
                    Err(_) => Ended::Panicked,
                };
                if stop.is_set() {
                    break;
                }
                ended(how);
                wait(&stop, pauses.pause());
            }
        };
        // The kernel stores 15 bytes of a thread's name.
        let thread = thread::Builder::new().name(name.chars().take(15).collect()).stack_size(THREAD_STACK_BYTES);
        self.threads.push(Thread { name: name.to_owned(), stop: own, handle: thread.spawn(body)? });
        Ok(())
    }

    /// Runs the future that `make` makes; one that ends before the stop is made again.
    pub fn supervise<F>(&mut self, name: &'static str, at_stop: AtStop, mut make: impl FnMut() -> F + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        self.supervise_boxed(name, at_stop, Box::new(move || boxed(make())));
    }

    fn supervise_boxed(&mut self, name: &'static str, at_stop: AtStop, mut make: Box<dyn FnMut() -> LocalTask>) {
        let stop = self.stop.clone();
        self.tasks.spawn_local(async move {
            let mut pauses = PAUSES;
            while !stop.is_set() {
                // A task of its own, so that a panic ends it and not us.
                let mut run = tokio::task::spawn_local(make());
                let ended = tokio::select! {
                    ended = &mut run => ended,
                    () = stop.requested() => {
                        if at_stop == AtStop::Drop {
                            run.abort();
                        }
                        run.await
                    }
                };
                if stop.is_set() {
                    break;
                }
                let (panicked, pause) = (ended.is_err(), pauses.pause());
                tracing::error!(
                    task = name,
                    panicked,
                    pause_secs = pause.as_secs(),
                    "task ended unasked, will restart"
                );
                tokio::time::sleep(pause).await;
            }
            name
        });
    }

    /// Ends all in the order of the data: sources stop within half of `grace`, then exporters flush within what is left
    /// of it. Names those that did not end in time.
    pub async fn drain(mut self, grace: Duration) -> Vec<String> {
        let begin = tokio::time::Instant::now();
        let (halfway, deadline) = (begin + grace / 2, begin + grace);
        self.threads.iter().for_each(|thread| thread.stop.set());
        while tokio::time::Instant::now() < halfway && self.threads.iter().any(Thread::is_running) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.stop.set();
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, self.tasks.join_next()).await {}
        let late = self.threads.into_iter().filter(Thread::is_running).map(|thread| thread.name);
        late.chain((!self.tasks.is_empty()).then(|| "tasks".to_owned())).collect()
    }
}

/// Waits for `pause` or the stop, whichever comes first.
pub fn wait(stop: &Stop, pause: Duration) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut descriptors = [PollFd::new(stop.fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX);
    // Interrupted or not: the caller looks at `stop` itself.
    let _ = poll(&mut descriptors, timeout);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_thread_that_panics_is_reported_and_drained() {
        let mut tasks = Tasks::new(Stop::new().unwrap());
        let (sender, receiver) = mpsc::channel();
        tasks
            .supervise_thread(
                "faulty",
                Stop::new().unwrap(),
                |_| panic!("on purpose"),
                move |how| sender.send(how).unwrap(),
            )
            .unwrap();
        assert_eq!(receiver.recv_timeout(Duration::from_secs(5)).unwrap(), Ended::Panicked);
        assert_eq!(tasks.drain(Duration::from_secs(5)).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_task_that_ends_is_made_again() {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                tokio::time::pause();
                let mut tasks = Tasks::new(Stop::new().unwrap());
                let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
                tasks.supervise("short", AtStop::Drop, move || {
                    let sender = sender.clone();
                    async move { sender.send(()).unwrap() }
                });
                receiver.recv().await.unwrap();
                receiver.recv().await.unwrap();
                tasks.drain(Duration::from_secs(100)).await;
            })
            .await;
    }

    /// What is late of a task that flushes for so long after the stop, where nothing else takes time.
    async fn late_after(flush_secs: u64) -> Vec<String> {
        let mut tasks = Tasks::new(Stop::new().unwrap());
        let stop = tasks.stop().clone();
        let (sender, mut running) = tokio::sync::mpsc::unbounded_channel();
        tasks.supervise("exporter", AtStop::Finish, move || {
            let (stop, sender) = (stop.clone(), sender.clone());
            async move {
                sender.send(()).unwrap();
                stop.requested().await;
                tokio::time::sleep(Duration::from_secs(flush_secs)).await;
            }
        });
        running.recv().await.unwrap();
        tasks.drain(Duration::from_secs(10)).await
    }

    #[tokio::test]
    async fn what_sources_leave_of_the_grace_is_the_exporters() {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                tokio::time::pause();
                assert_eq!(late_after(8).await, Vec::<String>::new());
                assert_eq!(late_after(11).await, ["tasks"]);
            })
            .await;
    }
}
