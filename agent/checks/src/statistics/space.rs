//! How full filesystems are. `statfs` may hang, on a dead disk as on a network: threads ask, no caller waits for them,
//! and one that hangs keeps only its own filesystem from being asked.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::{fcntl::OFlag, sys::statvfs::fstatvfs};

/// A filesystem that takes longer than this is left to the thread that asks it.
const LATE_AFTER: Duration = Duration::from_secs(2);
/// Each is stuck at a filesystem of its own: four dead disks are a dead node.
const MOST_THREADS: usize = 4;
/// What was measured before this is no longer shown. A round takes milliseconds.
const TRUE_FOR: Duration = Duration::from_mins(1);
/// A few system calls deep.
const STACK_BYTES: usize = 64 << 10;

/// Where a filesystem can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemMount {
    /// `major:minor`: what distinguishes filesystems.
    pub number: String,
    /// The mount's own id: a mount on top of it is another one.
    pub mount: u64,
    pub mount_point: PathBuf,
}

/// What a filesystem reports of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub size_bytes: u64,
    /// For all users; root may have more.
    pub available_bytes: u64,
    /// For root.
    pub free_bytes: u64,
    /// 0 where the filesystem has no fixed number of inodes (btrfs).
    pub inodes: u64,
    pub free_inodes: u64,
}

impl Space {
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.size_bytes.saturating_sub(self.free_bytes)
    }

    /// As `df` has it: of what all users could use. `None` for a filesystem without any room at all.
    #[must_use]
    pub fn used_percent(&self) -> Option<f64> {
        let usable = self.used_bytes().checked_add(self.available_bytes).filter(|usable| *usable > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "a quotient of two sizes")]
        Some(self.used_bytes() as f64 / usable as f64 * 100.0)
    }
}

/// In place of a filesystem's number while a thread finds out which there are.
const LISTING: &str = "mounts";

type Ask = dyn Fn(&FilesystemMount) -> Option<Space> + Send + Sync;
type Done = Box<dyn FnOnce() + Send>;

/// What is known of filesystems, and the threads that ask them.
#[derive(Clone)]
pub struct Spaces {
    inner: Arc<Mutex<Inner>>,
    ask: Arc<Ask>,
}

#[derive(Default)]
struct Inner {
    known: BTreeMap<String, (Instant, Space)>,
    rounds: Vec<Round>,
    begun: u64,
    waiting: Vec<Done>,
}

/// A thread that asks one filesystem after the other.
struct Round {
    number: u64,
    asking: Option<(String, Instant)>,
}

impl std::fmt::Debug for Spaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spaces").finish_non_exhaustive()
    }
}

impl Default for Spaces {
    fn default() -> Self {
        Self::asked_by(|mount| ask(mount).ok().flatten())
    }
}

impl Spaces {
    fn asked_by(ask: impl Fn(&FilesystemMount) -> Option<Space> + Send + Sync + 'static) -> Self {
        Self { inner: Arc::default(), ask: Arc::new(ask) }
    }

    /// Has the places that `list` names asked, by a thread of its own that runs `list` too, and calls `done` when all have
    /// answered but those that hang. Returns at once; while a round is under way it is that round that is waited for.
    pub fn refresh(
        &self,
        list: impl FnOnce() -> Vec<FilesystemMount> + Send + 'static,
        done: impl FnOnce() + Send + 'static,
    ) {
        let mut inner = self.lock();
        inner.waiting.push(Box::new(done));
        if inner.is_asking(Instant::now()) {
            return;
        }
        if inner.rounds.len() >= MOST_THREADS {
            return inner.call_waiting();
        }
        let number = inner.begun;
        inner.begun += 1;
        inner.rounds.push(Round { number, asking: None });
        let spaces = self.clone();
        let thread = thread::Builder::new().name("filesystems".to_owned()).stack_size(STACK_BYTES);
        if thread.spawn(move || spaces.round(number, list)).is_err() {
            inner.end(number);
        }
    }

    /// The newest figures, by `major:minor`; of a filesystem that hangs there are none after a minute.
    #[must_use]
    pub fn known(&self) -> BTreeMap<String, Space> {
        let now = Instant::now();
        let inner = self.lock();
        let fresh = inner.known.iter().filter(|(_, (at, _))| now.duration_since(*at) < TRUE_FOR);
        fresh.map(|(number, (_, space))| (number.clone(), *space)).collect()
    }

    /// Filesystems that have not answered for longer than a caller should wait.
    #[must_use]
    pub fn hanging(&self) -> Vec<String> {
        let now = Instant::now();
        let inner = self.lock();
        let late = inner
            .rounds
            .iter()
            .filter_map(|round| round.asking.as_ref())
            .filter(|(_, since)| now.duration_since(*since) >= LATE_AFTER);
        late.map(|(number, _)| number.clone()).collect()
    }

    fn round(&self, number: u64, list: impl FnOnce() -> Vec<FilesystemMount>) {
        if self.lock().begin(number, LISTING) {
            let mounts = list();
            if self.lock().goes_on(number) {
                self.lock().forget_all_but(&mounts);
                self.ask_all(number, &mounts);
            }
        }
        self.lock().end(number);
    }

    fn ask_all(&self, number: u64, mounts: &[FilesystemMount]) {
        for mount in mounts {
            if !self.lock().begin(number, &mount.number) {
                continue;
            }
            let space = (self.ask)(mount);
            let mut inner = self.lock();
            inner.know(mount, space);
            if !inner.goes_on(number) {
                return;
            }
        }
    }

    /// A thread that panicked holds no half-written figure.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Whether the newest round will be done soon.
    fn is_asking(&self, now: Instant) -> bool {
        let newest = self.rounds.iter().find(|round| round.number + 1 == self.begun);
        newest
            .is_some_and(|round| round.asking.as_ref().is_none_or(|(_, since)| now.duration_since(*since) < LATE_AFTER))
    }

    /// Whether this thread may ask: no other one hangs there.
    fn begin(&mut self, number: u64, what: &str) -> bool {
        let hangs = self.rounds.iter().any(|round| round.asking.as_ref().is_some_and(|(held, _)| held == what));
        if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number && !hangs) {
            round.asking = Some((what.to_owned(), Instant::now()));
        }
        !hangs
    }

    /// Its question was answered; whether the thread has more to ask: another one has its work if it was given up.
    fn goes_on(&mut self, number: u64) -> bool {
        if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) {
            round.asking = None;
        }
        number + 1 == self.begun
    }

    fn know(&mut self, mount: &FilesystemMount, space: Option<Space>) {
        match space {
            Some(space) => drop(self.known.insert(mount.number.clone(), (Instant::now(), space))),
            None => drop(self.known.remove(&mount.number)),
        }
    }

    fn forget_all_but(&mut self, mounts: &[FilesystemMount]) {
        self.known.retain(|number, _| mounts.iter().any(|mount| mount.number == *number));
    }

    fn end(&mut self, number: u64) {
        self.rounds.retain(|round| round.number != number);
        if number + 1 == self.begun {
            self.call_waiting();
        }
    }

    fn call_waiting(&mut self) {
        self.waiting.drain(..).for_each(|done| done());
    }
}

/// `None` if another mount hides this one: what is on top would answer in its name.
fn ask(mount: &FilesystemMount) -> io::Result<Option<Space>> {
    let directory =
        File::options().read(true).custom_flags((OFlag::O_PATH | OFlag::O_CLOEXEC).bits()).open(&mount.mount_point)?;
    if mount_id(&directory)? != Some(mount.mount) {
        return Ok(None);
    }
    let stat = fstatvfs(&directory)?;
    let unit = stat.fragment_size();
    let bytes = |blocks: u64| blocks.saturating_mul(unit);
    Ok(Some(Space {
        size_bytes: bytes(stat.blocks()),
        available_bytes: bytes(stat.blocks_available()),
        free_bytes: bytes(stat.blocks_free()),
        inodes: stat.files(),
        free_inodes: stat.files_free(),
    }))
}

/// The mount that a descriptor is in (proc_pid_fdinfo(5)).
fn mount_id(file: &File) -> io::Result<Option<u64>> {
    let info = Path::new("/proc/self/fdinfo").join(file.as_raw_fd().to_string());
    let text = std::fs::read_to_string(info)?;
    Ok(text.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok()))
}

#[cfg(test)]
mod tests;
