//! A process of another user, or of the agent's own, that tries every way into the agent, is a crowd at its socket, or floods
//! it: this very program, started again by `setpriv`.

mod flood;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    io::{self, BufRead, BufReader, IoSliceMut, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitCode, Stdio},
};

use nix::{
    errno::Errno,
    sys::{
        ptrace,
        uio::{RemoteIoVec, process_vm_readv},
        wait::waitpid,
    },
    unistd::Pid,
};

/// Set for the process that intrudes: into which process.
const TARGET: &str = "NODEWELL_INTRUDE_INTO";
/// Set for a crowd: how many connections it opens.
const CROWD: &str = "NODEWELL_CROWD_OF";
/// Set for a flood: how many reports each of its daemons has of its own.
const FLOOD: &str = "NODEWELL_FLOOD_OF";

/// A user, and what it has of root's rights.
#[derive(Debug, Clone)]
pub struct Intruder {
    pub uid: u32,
    /// As `setpriv` names them: `sys_rawio`.
    pub capabilities: &'static [&'static str],
}

impl Intruder {
    /// The start of a command line: what follows runs as this user.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        let id = self.uid.to_string();
        let mut argv = ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"].map(OsString::from).to_vec();
        let all = self.capabilities.iter().map(|name| format!(",+{name}")).collect::<String>();
        for set in ["--bounding-set", "--inh-caps", "--ambient-caps"] {
            argv.extend([set.into(), format!("-all{all}").into()]);
        }
        argv.push("--".into());
        argv
    }

    /// The ways that led into the process, each with what it found; and which files it could read.
    ///
    /// # Panics
    /// If it cannot be started, or breaks off.
    #[must_use]
    pub fn ways_into(&self, pid: u32, files: &[&Path]) -> Vec<String> {
        let argv = self.enter();
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).arg(std::env::current_exe().unwrap()).args(files).env(TARGET, pid.to_string());
        let output = command.output().unwrap();
        let (found, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && found.trim_end().ends_with(END), "{:?}: {found}{log}", output.status);
        found.lines().filter(|line| *line != END).map(str::to_owned).collect()
    }
}

/// The last line: it tried everything.
const END: &str = "that was all";

/// The condition type that a flood reports: its grant is to be for it.
pub const GRANTED: &str = "TestUnhealthy";
/// One that it has no right to, and tries.
pub const FORBIDDEN: &str = "TestOwn0";

/// A process of another user at the agent's socket; it ends with this.
#[derive(Debug)]
pub struct Attack {
    child: Child,
    heard: BufReader<ChildStdout>,
}

/// An attack that says what came of it.
#[derive(Debug)]
pub struct Flood(Attack);

impl Flood {
    /// How often it was answered so far, by the answer's code; 0 is for hanging up on it, or for no answer in time.
    ///
    /// # Panics
    /// If it has ended by itself.
    pub fn answers(&mut self) -> BTreeMap<u16, u64> {
        let Attack { child, heard } = &mut self.0;
        let asked = child.stdin.as_mut().map(|stdin| stdin.write_all(b"\n"));
        let mut line = String::new();
        let read = heard.read_line(&mut line);
        assert!(matches!((asked, read), (Some(Ok(())), Ok(1..))), "the attack has ended by itself");
        flood::read_counts(&line)
    }
}

impl Intruder {
    /// Opens so many connections to `socket`, which ask and never read; returns once all are open.
    ///
    /// # Panics
    /// If it cannot be started, or this machine lets a process have too few descriptors.
    #[must_use]
    pub fn crowd(&self, socket: &Path, connections: usize) -> Attack {
        self.attack(socket, CROWD, connections)
    }

    /// Floods `socket` in every way that there is, reports that count among them; returns once it does.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn flood(&self, socket: &Path, daemons: usize) -> Flood {
        Flood(self.attack(socket, FLOOD, daemons))
    }

    fn attack(&self, socket: &Path, kind: &str, count: usize) -> Attack {
        let argv = self.enter();
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={0}:{0}", count + 200)).args(&argv).arg(std::env::current_exe().unwrap());
        command.arg(socket).env(kind, count.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let heard = BufReader::new(child.stdout.take().unwrap());
        let mut attack = Attack { child, heard };
        let mut line = String::new();
        attack.heard.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), END, "it broke off");
        attack
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What this process is, if it was started as one of these; before anything else is done.
#[must_use]
pub fn as_asked() -> Option<ExitCode> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<i32>().ok();
    if let Some(pid) = number(TARGET) {
        intrude(pid);
    } else if let Some(connections) = number(CROWD) {
        if gather(connections).is_err() {
            return Some(ExitCode::FAILURE);
        }
    } else if let Some(daemons) = number(FLOOD) {
        flood::run(&socket(), daemons);
    } else {
        return None;
    }
    Some(ExitCode::SUCCESS)
}

fn intrude(pid: i32) {
    for (name, way) in WAYS {
        if way(pid).is_ok() {
            line(name);
        }
    }
    let readable = |file: &OsString| File::open(file).is_ok();
    std::env::args_os().skip(1).filter(readable).for_each(|file| line(&file.to_string_lossy()));
    line(END);
}

fn socket() -> PathBuf {
    std::env::args_os().nth(1).map(PathBuf::from).unwrap_or_default()
}

fn gather(connections: i32) -> io::Result<()> {
    let mut all = Vec::new();
    for _ in 0..connections {
        let mut stream = UnixStream::connect(socket())?;
        // One that is turned away at once has ended by now.
        let _ = stream.write_all(b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
        all.push(stream);
    }
    under_way();
    Ok(())
}

/// Reports it, and returns when its input ends, which does so with the case.
fn under_way() {
    line(END);
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
}

/// For who has started this.
fn line(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

type Way = fn(i32) -> io::Result<()>;

const WAYS: [(&str, Way); 7] = [
    ("reads /proc/PID/mem", |pid| File::open(format!("/proc/{pid}/mem")).map(drop)),
    // Opened for it, and nothing is written: an agent that is broken into shall answer what follows.
    ("writes /proc/PID/mem", |pid| File::options().write(true).open(format!("/proc/{pid}/mem")).map(drop)),
    ("process_vm_readv", reads_by_call),
    ("ptrace", attaches),
    ("reads /proc/PID/maps", |pid| File::open(format!("/proc/{pid}/maps")).map(drop)),
    ("reads /proc/PID/environ", |pid| File::open(format!("/proc/{pid}/environ")).map(drop)),
    // Their numbers are no secret; what they lead to is.
    ("follows /proc/PID/fd", |pid| fs::read_link(format!("/proc/{pid}/fd/0")).map(drop)),
];

/// Nothing lies at that address, which the kernel reports to those alone who may ask.
fn reads_by_call(pid: i32) -> io::Result<()> {
    let from = [RemoteIoVec { base: 1, len: 1 }];
    match process_vm_readv(Pid::from_raw(pid), &mut [IoSliceMut::new(&mut [0])], &from) {
        Ok(_) | Err(Errno::EFAULT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn attaches(pid: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid);
    ptrace::attach(pid)?;
    waitpid(pid, None)?;
    Ok(ptrace::detach(pid, None)?)
}

/// Why this machine refuses debuggers, whatever the agent does against them.
#[must_use]
pub fn refused_to_all() -> Option<String> {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    (!matches!(scope.trim(), "" | "0")).then(|| format!("kernel.yama.ptrace_scope is {}", scope.trim()))
}
