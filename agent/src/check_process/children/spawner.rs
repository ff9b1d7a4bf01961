//! Starts programs on a thread of its own. The thread that starts one waits until the kernel has read the program, and
//! the disk that it lies on may be dead. This one lives as long as the agent: its children end with it.

use std::{io, sync::mpsc, thread};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

type Started = io::Result<Child>;

/// Starts one after the other.
#[derive(Debug, Clone)]
pub struct Spawner(mpsc::Sender<(Command, oneshot::Sender<Started>)>);

impl Spawner {
    /// Within a runtime, which waits for the children.
    #[must_use]
    pub fn start() -> Self {
        let (orders, received) = mpsc::channel::<(Command, oneshot::Sender<Started>)>();
        let runtime = Handle::current();
        let work = move || {
            let _within = runtime.enter();
            for (mut command, to) in received {
                // One that is not waited for any more is killed.
                let _ = to.send(command.spawn());
            }
        };
        // Without a thread no order is received, and each is answered so.
        if let Err(error) = thread::Builder::new().name("spawner".to_owned()).spawn(work) {
            tracing::error!(%error, "no thread to start check processes with");
        }
        Self(orders)
    }

    pub(super) async fn spawn(&self, mut command: Command) -> Started {
        let (to, started) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts programs is gone");
        command.kill_on_drop(true);
        self.0.send((command, to)).map_err(|_| gone())?;
        started.await.map_err(|_| gone())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_it_starts_is_waited_for_here() {
        let spawner = Spawner::start();
        let mut child = spawner.spawn(Command::new("true")).await.unwrap();
        assert!(child.wait().await.unwrap().success());
        assert_eq!(spawner.spawn(Command::new("/no/such/program")).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
