//! A look at every process: the dear part. It costs some 20 µs a process, so it is done only so often that it takes a
//! small share of the time, however many there are.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    cgroup::{self, Cgroups},
    probe::{ReadError, attribute},
};
use nix::time::{ClockId, clock_gettime};
use nodewell_model::text;
use nodewell_sys::proc::{Stat, Status, content, content_into};

use super::{
    kernel,
    reading::{Blocked, Daemon, Owner, Process, Scan, TaskId, TasksReading, Zombie},
};

/// A look may take a ten-thousandth of a CPU: 2,000 processes cost 45 ms, and are looked at every seven minutes.
const PAUSE_FACTOR: u32 = 10_000;
/// Two looks make a verdict, which must not take hours where tasks have very many threads.
const LONGEST_PAUSE: Duration = Duration::from_mins(15);
/// More of them make no other verdict. Zombies of pods have a limit of their own: they must not hide those of the node.
const TASKS_LIMIT: usize = 1_000;
/// Of how many processes it is found out whose they are, for their zombies: two files each, so that a pod in which each
/// zombie has a parent of its own cannot make a look take longer than its deadline.
const PARENTS_LIMIT: usize = 10_000;
/// So many more tasks wait in the kernel than their processes' first threads show: the threads are looked at, too.
const HIDDEN_WAITERS: f64 = 5.0;

/// By what they are called: kubelets in all their wrappings, container runtimes, and ourselves.
const DAEMONS: [&[u8]; 11] = [
    b"kubelet",
    b"containerd",
    b"crio",
    b"dockerd",
    b"nodewelld",
    b"nodewell-checks",
    b"k3s-server",
    b"k3s-agent",
    b"kubelite",
    b"k0s",
    b"kube-proxy",
];

/// Looks, when it is time to.
#[derive(Debug)]
pub(super) struct Scanner {
    proc: PathBuf,
    shortest_pause: Duration,
    next: Option<Instant>,
}

/// How many were found.
#[derive(Debug, Default)]
struct Zombies {
    of_pods: usize,
    of_the_node: usize,
}

impl Zombies {
    /// Whether one more makes no other verdict, of a pod or not.
    fn are_enough(&self) -> bool {
        self.of_pods.min(self.of_the_node) >= TASKS_LIMIT
    }
}

/// One look on its way.
struct Look<'a> {
    proc: &'a Path,
    with_threads: bool,
    line: Vec<u8>,
    parents: BTreeMap<u32, Process>,
    zombies: Zombies,
    daemons: BTreeMap<String, Daemon>,
    found: Scan,
}

impl Scanner {
    pub(super) fn new(proc: &Path, shortest_pause: Duration) -> Self {
        Self { proc: proc.to_owned(), shortest_pause, next: None }
    }

    /// Looks, unless it did a short while ago.
    pub(super) fn read(&mut self) -> Result<TasksReading, ReadError> {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return Ok(TasksReading::default());
        }
        let used = cpu_time();
        let scan = scan(&self.proc)?;
        let cost = cpu_time().saturating_sub(used);
        self.next = began.checked_add(self.shortest_pause.max(cost.saturating_mul(PAUSE_FACTOR).min(LONGEST_PAUSE)));
        Ok(TasksReading { scan: Some(scan) })
    }
}

/// What this thread has used of a CPU: on a busy node a look takes long and costs no more.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn scan(proc: &Path) -> Result<Scan, ReadError> {
    let entries = proc.read_dir().map_err(|error| attribute::read_error(proc, &error))?;
    let loadavg = attribute::text(&proc.join("loadavg"))?.unwrap_or_default();
    let mut look = Look::new(proc, kernel::waiting(&loadavg) >= HIDDEN_WAITERS);
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            look.process(&entry.path());
        }
    }
    look.found.daemons = look.daemons.into_values().collect();
    Ok(look.found)
}

impl<'a> Look<'a> {
    fn new(proc: &'a Path, with_threads: bool) -> Self {
        Self {
            proc,
            with_threads,
            line: Vec::with_capacity(512),
            parents: BTreeMap::new(),
            zombies: Zombies::default(),
            daemons: BTreeMap::new(),
            found: Scan::default(),
        }
    }

    /// One that ends meanwhile is none.
    fn process(&mut self, path: &Path) {
        let mut line = std::mem::take(&mut self.line);
        if let Some(stat) = stat(path, &mut line) {
            self.take(path, &stat);
        }
        self.line = line;
    }

    fn take(&mut self, path: &Path, stat: &Stat<'_>) {
        match stat.state {
            b'Z' => self.zombie(stat),
            b'D' => self.blocked(path, stat),
            _ => {}
        }
        if self.with_threads && stat.threads > 1 {
            self.threads(path, stat);
        }
        if DAEMONS.contains(&stat.name) {
            self.daemon(path, stat);
        }
    }

    fn zombie(&mut self, stat: &Stat<'_>) {
        let Some(parent) = self.parent(stat.parent) else { return };
        let found = match parent.owner {
            Some(Owner::Pod(_)) => &mut self.zombies.of_pods,
            Some(Owner::Unit(_)) | None => &mut self.zombies.of_the_node,
        };
        if *found < TASKS_LIMIT {
            *found += 1;
            self.found.zombies.push(Zombie { id: id(stat), parent });
        }
    }

    /// All but the first, which stands for the process.
    fn threads(&mut self, path: &Path, process: &Stat<'_>) {
        let Ok(entries) = path.join("task").read_dir() else { return };
        let mut line = Vec::with_capacity(512);
        for thread in entries.flatten() {
            let waits = |stat: &Stat<'_>| stat.state == b'D' && stat.pid != process.pid;
            if let Some(stat) = stat(&thread.path(), &mut line).filter(waits) {
                self.blocked(&thread.path(), &stat);
            }
        }
    }

    fn blocked(&mut self, path: &Path, stat: &Stat<'_>) {
        if self.found.blocked.len() >= TASKS_LIMIT {
            return;
        }
        // `0` for a reader without permission, and for every reader where the task does not wait.
        let wait_channel =
            attribute::text(&path.join("wchan")).ok().flatten().filter(|wait_channel| wait_channel != "0");
        let wait_channel = wait_channel.map(|wait_channel| text::subject(wait_channel.as_bytes())).unwrap_or_default();
        self.found.blocked.push(Blocked {
            id: id(stat),
            name: text::subject(stat.name),
            ticks: stat.ticks,
            wait_channel,
            pod: owner_of(path).and_then(Owner::into_pod),
        });
    }

    /// `None` for one too many.
    fn parent(&mut self, pid: u32) -> Option<Process> {
        if let Some(known) = self.parents.get(&pid) {
            return Some(known.clone());
        }
        if self.parents.len() >= PARENTS_LIMIT || self.zombies.are_enough() {
            return None;
        }
        let path = self.proc.join(pid.to_string());
        let mut line = Vec::new();
        let name = stat(&path, &mut line).map_or_else(|| "exited process".to_owned(), |stat| text::subject(stat.name));
        let parent = Process { pid, name, owner: owner_of(&path) };
        self.parents.insert(pid, parent.clone());
        Some(parent)
    }

    /// One of a service of the node; a name alone proves nothing. Of several the oldest is the one.
    fn daemon(&mut self, path: &Path, stat: &Stat<'_>) {
        let Some(Owner::Unit(unit)) = owner_of(path) else { return };
        let (name, service) = (text::subject(stat.name), unit.trim_end_matches(".service"));
        let name = if service == name { name } else { format!("{name} of {unit}") };
        if self.daemons.get(&name).is_some_and(|known| known.id.start <= stat.started) {
            return;
        }
        let status = content(&path.join("status")).ok().flatten().unwrap_or_default();
        let memory = Status::of(&status).kib("RssAnon");
        let daemon = Daemon { id: id(stat), name: name.clone(), memory, descriptors: descriptors(&path.join("fd")) };
        self.daemons.insert(name, daemon);
    }
}

/// Since 6.2 the size of the folder is how many there are, which needs no right (fs/proc/fd.c proc_fd_getattr); before, they
/// are counted where we may look.
fn descriptors(folder: &Path) -> Option<u64> {
    let size = fs::metadata(folder).ok()?.len();
    if size > 0 {
        return Some(size);
    }
    u64::try_from(folder.read_dir().ok()?.count()).ok()
}

fn owner_of(process: &Path) -> Option<Owner> {
    let text = cgroup::read(process).ok()??;
    let cgroups = Cgroups::parse(&text);
    cgroups.pod_uid().map(Owner::Pod).or_else(|| cgroups.service().map(|unit| Owner::Unit(unit.to_owned())))
}

fn id(stat: &Stat<'_>) -> TaskId {
    TaskId { pid: stat.pid, start: stat.started }
}

/// `None` if there is nothing to read.
fn stat<'a>(task: &Path, line: &'a mut Vec<u8>) -> Option<Stat<'a>> {
    let is_there = content_into(&task.join("stat"), line).ok()?;
    Stat::parse(line).filter(|_| is_there)
}

#[cfg(test)]
mod tests;
