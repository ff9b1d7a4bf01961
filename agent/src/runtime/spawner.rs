//! Starts a program on a thread of its own. The thread that starts one waits until the kernel has read the program, and
//! the disk that it lies on may be dead. This one lives as long as the agent: its children end with it.

use std::{
    fs::File,
    io::{self, Seek},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
};

use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

type Started = io::Result<Child>;
/// Something to do with the program.
type Order = Box<dyn FnOnce(&mut Program) + Send>;

/// Starts one program again and again, one process after the other.
#[derive(Debug, Clone)]
pub struct Spawner {
    program: PathBuf,
    /// To the thread; none before the first order.
    orders: Arc<Mutex<Option<mpsc::Sender<Order>>>>,
}

impl Spawner {
    #[must_use]
    pub fn of(program: PathBuf) -> Self {
        Self { program, orders: Arc::default() }
    }

    /// The program of that name beside this one: packages put them into one folder.
    #[must_use]
    pub fn beside_us(name: &str) -> Self {
        Self::of(std::env::current_exe().unwrap_or_default().with_file_name(name))
    }

    /// Within a runtime, which waits for the child.
    pub(crate) async fn spawn(&self, prepare: impl FnOnce(&Path) -> Command + Send + 'static) -> Started {
        let (to, started) = oneshot::channel();
        self.order(Box::new(|program| {
            // One that is not waited for any more is killed.
            let _ = to.send(program.start(prepare));
        }))?;
        started.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs is gone")))
    }

    /// Has the program found and read before it is needed.
    pub(crate) fn get_ready(&self) {
        // Where that fails the start will say so.
        let _ = self.order(Box::new(|program| drop(program.read_in())));
    }

    /// To the thread that there is, or to a new one.
    fn order(&self, order: Order) -> io::Result<()> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let order = match &*orders {
            None => order,
            Some(orders) => match orders.send(order) {
                Ok(()) => return Ok(()),
                Err(mpsc::SendError(order)) => order,
            },
        };
        let (to, received) = mpsc::channel::<Order>();
        let (runtime, mut program) = (Handle::current(), Program { path: self.program.clone(), open: None });
        thread::Builder::new().name("spawner".to_owned()).spawn(move || {
            let _within = runtime.enter();
            received.into_iter().for_each(|order| order(&mut program));
        })?;
        // It ends only after this end of the channel, or by a panic.
        to.send(order).map_err(|_| io::Error::other("the thread that starts programs is gone"))?;
        *orders = Some(to);
        Ok(())
    }
}

/// A file that is started as it was when it was first found: an upgrade puts that of another version in its place.
#[derive(Debug)]
struct Program {
    path: PathBuf,
    open: Option<File>,
}

impl Program {
    fn start(&mut self, prepare: impl FnOnce(&Path) -> Command) -> Started {
        let path = self.read_in()?;
        let started = prepare(&path).kill_on_drop(true).spawn();
        started.map_err(|error| self.named(error))
    }

    /// By which path it can be started. What a dead disk holds is this thread then, and not a child that has copies of all
    /// our descriptors until it runs.
    fn read_in(&mut self) -> io::Result<PathBuf> {
        let open = self.open.take();
        let read = || {
            let mut file = open.map_or_else(|| File::open(&self.path), Ok)?;
            file.rewind()?;
            io::copy(&mut file, &mut io::sink())?;
            Ok(file)
        };
        let file = read().map_err(|error| self.named(error))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
        self.open = Some(file);
        Ok(path)
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    async fn code(spawner: &Spawner) -> Option<i32> {
        let mut child = spawner.spawn(|program| Command::new(program)).await.unwrap();
        child.wait().await.unwrap().code()
    }

    /// A program of the system's, as `to`; copied by another process, as by `nodewell_kit::write_program`.
    fn install(name: &str, to: &Path) {
        let found = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
        let new = to.with_extension("new");
        let copied = std::process::Command::new("install").arg("--mode=755").args([&found.unwrap(), &new]).status();
        assert!(copied.unwrap().success());
        fs::rename(new, to).unwrap();
    }

    #[tokio::test]
    async fn the_file_that_was_found_first_is_started_whatever_replaces_it() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let spawner = Spawner::of(program.clone());
        let absent = spawner.spawn(|program| Command::new(program)).await.unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        assert!(absent.to_string().starts_with(&*program.to_string_lossy()), "{absent}");
        install("true", &program);
        assert_eq!(code(&spawner).await, Some(0));
        install("false", &program);
        assert_eq!(code(&spawner).await, Some(0));
        fs::remove_file(&program).unwrap();
        assert_eq!(code(&spawner).await, Some(0));
    }

    #[tokio::test]
    async fn after_a_panic_there_is_another_thread() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        install("true", &program);
        let spawner = Spawner::of(program);
        assert!(spawner.spawn(|_| panic!("as this test wants it")).await.is_err());
        // An order that reaches the thread while it ends is lost; the next one is not.
        let start = || spawner.spawn(|program| Command::new(program));
        let mut started = start().await;
        for _ in 0..1000 {
            match started {
                Ok(_) => break,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
            started = start().await;
        }
        assert!(started.unwrap().wait().await.unwrap().success());
    }
}
