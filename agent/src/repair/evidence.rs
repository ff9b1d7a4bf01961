//! What helps a person to see why a unit was broken, collected before it is repaired: its state in systemd, what its
//! processes wait for, the last lines of its log. Bounded; old collections go.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nodewell_checks::{
    repair::UnitProblem,
    systemd::{BusError, Unit},
};
use nodewell_sys::{
    journal::{Journal, JournalError, JournalLibrary},
    proc::Status,
};
use tokio::{task::spawn_blocking, time::timeout};

/// One collection.
const FILE_LIMIT_BYTES: usize = 256 * 1024;
/// So many stay, the newest.
const FILES_LIMIT: usize = 20;
/// A disk or journal that takes longer is not waited for: the repair is what matters.
const WITHIN: Duration = Duration::from_secs(15);
const LOG_LINES: usize = 200;
const LINE_LIMIT_BYTES: usize = 1024;
/// Of its tasks that many are looked at: a runtime has hundreds.
const TASKS_LIMIT: usize = 256;
const FOLDER: &str = "collected";

/// What it is about.
pub(super) struct Case {
    pub(super) unit: String,
    pub(super) problem: UnitProblem,
    pub(super) state: Result<Unit, BusError>,
    /// Of tests.
    pub(super) journal: Option<PathBuf>,
}

/// One that never came back still holds its thread: there is no second.
static IS_BUSY: AtomicBool = AtomicBool::new(false);

/// Writes the file and returns its path, or why there is none.
pub(super) async fn collect(state_dir: &Path, case: Case) -> Result<PathBuf, String> {
    if IS_BUSY.swap(true, Ordering::Relaxed) {
        return Err("the last collection has not ended".to_owned());
    }
    let folder = state_dir.join(FOLDER);
    let work = spawn_blocking(move || {
        let outcome = write(&folder, &case);
        IS_BUSY.store(false, Ordering::Relaxed);
        outcome
    });
    match timeout(WITHIN, work).await {
        Ok(Ok(outcome)) => outcome.map_err(|error| error.to_string()),
        Ok(Err(_)) => Err("the collection panicked".to_owned()),
        Err(_) => Err(format!("the collection took longer than {} s", WITHIN.as_secs())),
    }
}

fn write(folder: &Path, case: &Case) -> std::io::Result<PathBuf> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let file = folder.join(format!("{time}-{}.txt", case.unit.replace('/', "_")));
    let mut options = fs::OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(&file)?;
    let mut text = text(case);
    text.truncate(text.floor_char_boundary(FILE_LIMIT_BYTES));
    std::io::Write::write_all(&mut out, text.as_bytes())?;
    forget_old(folder);
    Ok(file)
}

/// Names begin with their time. What cannot be removed now is removed another time.
fn forget_old(folder: &Path) {
    let listed = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    files.sort();
    let surplus = files.len().saturating_sub(FILES_LIMIT);
    files.iter().take(surplus).for_each(|file| drop(fs::remove_file(file)));
}

/// Writing to a String cannot fail.
fn text(case: &Case) -> String {
    let mut text = String::new();
    let UnitProblem { reason, lasted, message } = &case.problem;
    let _ = writeln!(text, "{}: {reason} for {} s: {message}\n", case.unit, lasted.as_secs());
    let main = match &case.state {
        Ok(unit) => {
            let _ = writeln!(text, "systemd:\n{unit:#?}\n");
            unit.main_pid
        }
        Err(error) => {
            let _ = writeln!(text, "systemd: {error}\n");
            None
        }
    };
    if let Some(pid) = main {
        process(&mut text, &PathBuf::from(format!("/proc/{pid}")));
    }
    let _ = writeln!(text, "its last log lines:");
    match log(case) {
        Ok(lines) => text.extend(lines.iter().rev().map(|line| format!("{line}\n"))),
        Err(error) => text.push_str(&format!("(the journal cannot be read: {error})\n")),
    }
    text
}

/// Its main process and what each of its tasks waits for (proc_pid_wchan(5)): that is where a hang shows.
fn process(text: &mut String, proc: &Path) {
    let read = |path: PathBuf| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    let _ = writeln!(text, "main process:\n{}", read(proc.join("cmdline")).unwrap_or_default());
    let _ = writeln!(text, "{}", read(proc.join("status")).unwrap_or_else(|error| error.to_string()));
    let _ = writeln!(text, "tasks: number, name, state, what it waits for");
    let tasks = fs::read_dir(proc.join("task")).into_iter().flatten().flatten();
    for task in tasks.take(TASKS_LIMIT) {
        let part = |name: &str| read(task.path().join(name)).unwrap_or_default();
        let status = part("status");
        let state = Status::of(status.as_bytes()).text("State").unwrap_or_default();
        let number = task.file_name();
        let _ = writeln!(text, "{} {} {} {}", number.display(), part("comm").trim(), state, part("wchan"));
    }
    text.push('\n');
}

/// Newest first.
fn log(case: &Case) -> Result<Vec<String>, JournalError> {
    let library = Arc::new(JournalLibrary::load(JournalLibrary::NAME)?);
    let mut journal = match &case.journal {
        Some(folder) => Journal::open_directory(library, folder)?,
        None => Journal::open(library)?,
    };
    journal.set_data_threshold(LINE_LIMIT_BYTES)?;
    journal.add_match("_SYSTEMD_UNIT", &case.unit)?;
    journal.add_disjunction()?;
    // What systemd itself logs of it.
    journal.add_match("UNIT", &case.unit)?;
    journal.add_match("_PID", "1")?;
    journal.seek_tail()?;
    let mut lines = Vec::new();
    while lines.len() < LOG_LINES && journal.step_back()? {
        let time =
            i64::try_from(journal.realtime_usec()?).ok().and_then(|usec| jiff::Timestamp::from_microsecond(usec).ok());
        let message = journal.data("MESSAGE")?.map(|text| String::from_utf8_lossy(text).into_owned());
        let time = time.map(|time| time.to_string()).unwrap_or_default();
        lines.push(format!("{time} {}", message.unwrap_or_default()));
    }
    Ok(lines)
}
