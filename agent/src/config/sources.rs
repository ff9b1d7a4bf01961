//! `[kmsg]` and `[journal]`: where records come from.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use nodewell_settings::{
    Key, Kind, Report, Schema, Section, Table,
    kind::{Bool, Maybe, Number, Path, TimeOrNone},
};

/// The kernel log, unless `[kmsg] path` or `--kmsg` names another.
pub const KERNEL_LOG: &str = "/dev/kmsg";
/// As long as Node Problem Detector's stock configs look back.
const DEFAULT_LOOKBACK: Duration = Duration::from_mins(5);
const LOOKBACK: &str = "At the first start, Events younger than this are reported; lasting problems, and what came \
    while nodewelld was away, always are.";
const JOURNAL_LOOKBACK: &str = "At the first start, records younger than this are read, of log files, too, or as far back \
    as a rule asks; what came while nodewelld was away always is.";

/// `[kmsg]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsgConfig {
    pub path: PathBuf,
    pub facilities: Vec<u32>,
    pub lookback: Duration,
}

/// `[journal]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalConfig {
    pub enabled: bool,
    pub directory: Option<PathBuf>,
    pub lookback: Duration,
}

impl Table for KmsgConfig {
    const NAME: &'static str = "[kmsg]";
    const ABOUT: &'static str = "The kernel log.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("path", |it| &mut it.path, Path).help(
                "The kernel log; of a file other than the device, what it holds at the start counts as read now.",
            ),
            Self::key("facilities", |it| &mut it.facilities, Facilities).help(
                "Syslog facilities that are believed; 0 is the kernel's own, which user space cannot write under.",
            ),
            Self::key("lookback", |it| &mut it.lookback, TimeOrNone).help(LOOKBACK),
        ]
    }
}

impl Default for KmsgConfig {
    fn default() -> Self {
        Self { path: KERNEL_LOG.into(), facilities: vec![0], lookback: DEFAULT_LOOKBACK }
    }
}

impl Table for JournalConfig {
    const NAME: &'static str = "[journal]";
    const ABOUT: &'static str = "The journal.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether the journal is read."),
            Self::key("directory", |it| &mut it.directory, Maybe(Path))
                .help("If unset, the system's own journals.")
                .example(r#""/var/log/journal""#),
            Self::key("lookback", |it| &mut it.lookback, TimeOrNone).help(JOURNAL_LOOKBACK),
        ]
    }
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self { enabled: true, directory: None, lookback: DEFAULT_LOOKBACK }
    }
}

/// As many as syslog has.
const FACILITIES: RangeInclusive<u32> = 0..=23;

/// Numbers of syslog.
struct Facilities;

impl Kind for Facilities {
    type Of = Vec<u32>;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<u32>> {
        Some(section.numbers(key, FACILITIES, report))
    }

    fn shown(&self, value: &Vec<u32>) -> Option<String> {
        Some(format!("{value:?}"))
    }

    fn takes(&self) -> String {
        "a list of numbers from 0 to 23".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::list(Number(FACILITIES).schema(), 0..=usize::MAX)
    }
}
