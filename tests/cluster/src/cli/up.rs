//! `up`: starts the process that holds the cluster, shows its progress, and prints how to use what is there then.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::unistd::Pid;
use nodewell_cluster::unmet;
use nodewell_tests::real::binary;

use super::{
    Failure, Size, folder,
    hold::{PROGRESS, report},
    lock, request,
};

/// How often is looked for progress.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The most lines of a log that are shown as the reason.
const SHOWN: usize = 12;

pub(super) fn up(size: Size) -> Result<(), Failure> {
    if let Some(holder) = lock::holder()? {
        return Err(Failure::Failed(known(holder)));
    }
    request::check_socket().map_err(Failure::Unavailable)?;
    report("what machines boot from (made once, some minutes)");
    if let Some(reason) = unmet() {
        return Err(Failure::Unavailable(reason));
    }
    let begun = Instant::now();
    let folder = folder();
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    let mut log = Log::open(folder.join("log")).map_err(failed)?;
    let holder = start(size, &log.path).map_err(failed)?;
    follow(holder, &mut log)?;
    println!("{}", guide(size, begun.elapsed().as_secs()));
    Ok(())
}

/// Why there cannot be another one.
fn known(holder: Pid) -> String {
    let is_up = request::connect().is_some();
    let what = if is_up { "is up already" } else { "is being brought up" };
    let look = if is_up { "`make cluster ARGS=status` shows it".to_owned() } else { format!("by process {holder}") };
    format!("a cluster {what}: {look}, `make cluster ARGS=down` ends it")
}

/// In a session of its own: it stays when this terminal goes.
fn start(size: Size, log: &Path) -> io::Result<Child> {
    // The log may be that of a process which takes the lock just now.
    let output = File::options().append(true).open(log)?;
    let mut command = Command::new("setsid");
    command.arg(std::env::current_exe()?).arg("hold");
    command.arg(format!("--workers={}", size.workers)).arg(format!("--controllers={}", size.controllers));
    command.args(size.bare.then_some("--bare"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output).spawn()
}

/// The holder's log, from where it was opened: before that are those of holders that were killed.
struct Log {
    path: PathBuf,
    lines: BufReader<File>,
    /// What was read of it.
    seen: Vec<String>,
}

impl Log {
    fn open(path: PathBuf) -> io::Result<Self> {
        let mut file = File::options().create(true).append(true).read(true).open(&path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path, lines: BufReader::new(file), seen: Vec::new() })
    }
}

/// Shows lines of progress until the cluster is up.
fn follow(mut holder: Child, log: &mut Log) -> Result<(), Failure> {
    let shown = log.path.display().to_string();
    let failed = |error: io::Error| Failure::Failed(format!("{shown}: {error}"));
    let mut line = String::new();
    loop {
        if log.lines.read_line(&mut line).map_err(failed)? == 0 || !line.ends_with('\n') {
            if holder.try_wait().map_err(failed)?.is_some() {
                log.lines.read_to_string(&mut line).map_err(failed)?;
                log.seen.extend(line.lines().map(str::to_owned));
                let why = reason(&log.seen);
                return Err(Failure::Failed(format!("the cluster did not come up: {why}\n{shown} has more")));
            }
            thread::sleep(LOOK_EVERY);
            continue;
        }
        if line.starts_with(PROGRESS) {
            eprint!("{line}");
        }
        if line.trim_end() == format!("{PROGRESS}is up") {
            return Ok(());
        }
        log.seen.push(line.trim_end().to_owned());
        line.clear();
    }
}

/// Why it failed, as far as the log says so at its end.
fn reason(lines: &[String]) -> String {
    // What is shown after it is for those who look further.
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let from = panic.map_or(lines.len().saturating_sub(SHOWN), |panic| panic + 1);
    lines[from..]
        .iter()
        .take(SHOWN)
        .take_while(|line| !line.starts_with("stack backtrace"))
        .cloned()
        .collect::<Vec<_>>()
        .join("\n")
}

fn guide(size: Size, seconds: u64) -> String {
    let Size { workers, controllers, bare } = size;
    let kubernetes = binary("kubectl").parent().map_or_else(PathBuf::new, Path::to_owned);
    // Ours lie beside this one.
    let own = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned())).unwrap_or_default();
    let kubeconfig = folder().join("kubeconfig");
    let mut text = format!(
        "\n{workers} workers, {controllers} controllers, up in {seconds} s. In this shell:\n\n  \
         export PATH={}:{}:$PATH KUBECONFIG={}\n",
        kubernetes.display(),
        own.display(),
        kubeconfig.display()
    );
    if !bare {
        text.push_str(SEE_IT);
    }
    text.push_str("\nmake cluster ARGS=--help has the other commands, make cluster ARGS=down ends it.");
    text
}

/// README.md shows the same with what is seen.
const SEE_IT: &str = "
See it fence a node:

  kubectl get nodes,pods -o wide                         one pod, shop-0, on w2
  target/debug/nodewell-controller plan --node w2        what becomes of it if w2 fails
  make cluster ARGS=\"off w2\"                             pull the plug of w2
  kubectl get nodefences --watch                         off for certain, released, on again
  kubectl get nodes,pods -o wide                         shop-0 is on another node
";
