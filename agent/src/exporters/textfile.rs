//! Prometheus by way of node_exporter: the page of metrics as a file that its textfile collector reads, for nodes of which
//! nothing else may be scraped.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use nodewell_settings::{
    Key, Table,
    kind::{Maybe, Word},
};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::metrics::{self, MetricSources};
use crate::{
    config::Config,
    runtime::{Tasks, tasks::AtStop},
};

/// Prometheus scrapes as often, or half as often.
const INTERVAL: Duration = Duration::from_secs(30);
/// What changes again and again is written no sooner.
const SOONEST: Duration = Duration::from_secs(1);
/// A folder that hangs must not hold up the stop.
const REMOVAL_TIME: Duration = Duration::from_millis(500);
/// The collector reads no other files.
const EXTENSION: &str = "prom";

const PATH: Word<PathBuf> = Word {
    takes: "an absolute path that ends in .prom",
    read: path,
    shown: |path| path.to_string_lossy().into_owned(),
};

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextfileSettings {
    pub path: Option<PathBuf>,
}

impl Table for TextfileSettings {
    const NAME: &'static str = "[textfile]";
    const ABOUT: &'static str = "The metrics as a file for node_exporter's textfile collector.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("path", |it| &mut it.path, Maybe(PATH))
                .help("Where they are written; if unset, nowhere.")
                .example(r#""/var/lib/node_exporter/nodewell.prom""#),
        ]
    }
}

/// Starts it where `path` is set.
pub(super) fn start(tasks: &mut Tasks, config: &Config, sources: &MetricSources) {
    let Some(path) = config.exporters.textfile.path.clone() else { return };
    let (sources, stop) = (sources.clone(), tasks.stop().clone());
    tasks.supervise("textfile", AtStop::Finish, move || {
        let stop = stop.clone();
        run(path.clone(), sources.clone(), async move { stop.requested().await })
    });
}

fn path(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    let is_read = path.is_absolute() && path.extension().is_some_and(|extension| extension == EXTENSION);
    let wrong =
        || format!("{word:?} is no absolute path that ends in .{EXTENSION}; node_exporter reads no other files");
    if is_read { Ok(path) } else { Err(wrong()) }
}

/// Writes the page at every change and now and then, until `stop` ends; then the file goes, as the page does.
async fn run(path: PathBuf, sources: MetricSources, stop: impl Future<Output = ()>) {
    let mut view = sources.shared_state.watch();
    let mut textfile = Textfile { path, failure: None };
    let mut stop = pin!(stop);
    loop {
        view.mark_unchanged();
        let page = metrics::text(&sources).await;
        let turn = async {
            textfile.write(without_process(&page)).await;
            sleep(SOONEST).await;
            // The sender lives in `sources`.
            let _ = timeout(INTERVAL.saturating_sub(SOONEST), view.changed()).await;
        };
        tokio::select! {
            () = turn => {}
            () = &mut stop => break,
        }
    }
    let _ = timeout(REMOVAL_TIME, spawn_blocking(move || fs::remove_file(textfile.path))).await;
}

/// node_exporter has these of itself, by the same names.
fn without_process(page: &str) -> String {
    let is_other = |line: &&str| {
        let name = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE ")).unwrap_or(line);
        !name.starts_with("process_")
    };
    page.split_inclusive('\n').filter(is_other).collect()
}

/// The file, and what was wrong with it at the last try.
struct Textfile {
    path: PathBuf,
    failure: Option<String>,
}

impl Textfile {
    /// On a thread of its own: the folder may be on a disk that hangs.
    async fn write(&mut self, page: String) {
        let path = self.path.clone();
        let written = spawn_blocking(move || replace(&path, page.as_bytes())).await;
        let failure = written.unwrap_or_else(|error| Err(error.into())).err().map(|error| error.to_string());
        if failure != self.failure {
            let file = self.path.display();
            match &failure {
                Some(error) => {
                    tracing::warn!(%file, %error, "the metrics cannot be written for node_exporter, will retry")
                }
                None => tracing::info!(%file, "the metrics are written for node_exporter again"),
            }
            self.failure = failure;
        }
    }
}

/// Renamed into its place: it is never seen half.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_added_extension("new");
    // What a run that was killed left there; a link in its place is not followed.
    let _ = fs::remove_file(&draft);
    let mut to = OpenOptions::new().write(true).create_new(true).open(&draft)?;
    // Whatever our umask: node_exporter is another user.
    to.set_permissions(Permissions::from_mode(0o644))?;
    to.write_all(content)?;
    fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use std::{rc::Rc, sync::Arc};

    use nodewell_rules::RuleSet;
    use tokio::sync::{oneshot, watch};

    use super::*;
    use crate::{
        exporters::metrics::{CheckFiles, Statistics},
        shared_state::SharedState,
        store::Store,
    };

    const DEADLINE: Duration = Duration::from_secs(20);

    fn sources(folder: &Path) -> MetricSources {
        MetricSources {
            shared_state: SharedState::new("node").0,
            rules: watch::channel(Arc::new(RuleSet::default())).1,
            api: Arc::default(),
            socket: Arc::default(),
            store: Store::nowhere(),
            statistics: Rc::new(Statistics::new(false, None)),
            cluster: None,
            check_files: CheckFiles::of(&folder.join("socket")),
        }
    }

    async fn until_read(file: &Path) -> String {
        let read = async {
            loop {
                if let Ok(text) = fs::read_to_string(file) {
                    return text;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(DEADLINE, read).await.unwrap()
    }

    #[tokio::test]
    async fn the_file_is_there_for_others_to_read_and_goes_at_the_stop() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nodewell.prom");
        fs::write(folder.path().join("nodewell.prom.new"), "of a run that was killed").unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = run(file.clone(), sources(folder.path()), async move { _ = stopped.await });
        let looking = async {
            let text = until_read(&file).await;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
            assert!(text.starts_with("# HELP ") && text.contains("\nnodewell_build_info{version="), "{text}");
            assert!(!text.contains("process_"), "{text}");
            stop.send(()).unwrap();
        };
        tokio::join!(running, looking);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_node_exporter_has_of_itself_is_left_out_and_nothing_else() {
        let page = "# HELP a_process_b A.\n# TYPE a_process_b gauge\na_process_b 1\n\
                    # HELP process_threads Number of threads.\n# TYPE process_threads gauge\nprocess_threads 5\n\
                    # HELP c process_ C.\n# TYPE c gauge\nc{of=\"process_\"} 1\n";
        let expected = "# HELP a_process_b A.\n# TYPE a_process_b gauge\na_process_b 1\n\
                        # HELP c process_ C.\n# TYPE c gauge\nc{of=\"process_\"} 1\n";
        assert_eq!(without_process(page), expected);
        assert_eq!(without_process(""), "");
    }

    #[test]
    fn a_file_that_the_collector_would_not_read_is_an_error() {
        assert_eq!(path("/var/lib/textfile/nodewell.prom"), Ok(PathBuf::from("/var/lib/textfile/nodewell.prom")));
        for wrong in
            ["", "nodewell.prom", "/var/lib/textfile/nodewell", "/var/lib/textfile/nodewell.prom.new", "/.prom"]
        {
            assert!(path(wrong).unwrap_err().contains("ends in .prom"), "{wrong}");
        }
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nodewell.prom");
        replace(&file, b"one\n").unwrap();
        replace(&file, b"two\n").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two\n");
        // A folder in its place: the draft cannot be made, and what is there stays.
        fs::create_dir_all(folder.path().join("nodewell.prom.new/x")).unwrap();
        assert!(replace(&file, b"three\n").is_err());
        assert_eq!(fs::read(&file).unwrap(), b"two\n");
        let missing = folder.path().join("missing/nodewell.prom");
        assert_eq!(replace(&missing, b"").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
