//! Where records come from, and all that a source is called: by rules, by people, in the store.

use std::{path::PathBuf, sync::Arc};

use crate::timestamp::TimestampFormat;

/// One physical source that has to be read once, however many rules listen to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    /// The kernel log.
    Kmsg,
    /// The systemd journal. `directory` is for NPD's `logPath`; `None` is the system's own.
    Journal { directory: Option<PathBuf> },
    /// Log files.
    File(FileReader),
}

/// How to read a log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReader {
    /// The source's name, and its monitor's, unless another reader's monitor is named so already.
    pub name: Arc<str>,
    /// Glob patterns.
    pub paths: Vec<String>,
    pub timestamp: TimestampFormat,
    /// The part of the line that is the message: the last capture group that took part. `None`: what follows the
    /// timestamp.
    pub message: Option<String>,
    /// Lines with any of these substrings are passed over.
    pub skip: Vec<String>,
}

/// A source that no file declares.
pub(crate) struct BuiltIn {
    /// As rules name it.
    pub(crate) name: &'static str,
    /// Whose claims findings of native rules on it are.
    pub(crate) monitor: &'static str,
    pub(crate) reader: Reader,
}

pub(crate) static BUILT_IN: [BuiltIn; 2] = [
    BuiltIn { name: "kmsg", monitor: "kernel-monitor", reader: Reader::Kmsg },
    BuiltIn { name: "journal", monitor: "journal-monitor", reader: Reader::Journal { directory: None } },
];

/// The source that is called so, if no file has to declare it.
pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|one| one.name == name)
}

impl Reader {
    /// For people.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Kmsg => "kmsg".to_owned(),
            Self::Journal { directory: None } => "journal".to_owned(),
            Self::Journal { directory: Some(directory) } => format!("journal in {}", directory.display()),
            Self::File(file) => format!("{} ({})", file.name, file.paths.join(", ")),
        }
    }

    /// Node Problem Detector's name of the plugin that reads it.
    pub(crate) fn npd_plugin(&self) -> &'static str {
        match self {
            Self::Kmsg => "kmsg",
            Self::Journal { .. } => "journald",
            Self::File(_) => "filelog",
        }
    }

    /// What its log is called in the store: the same as long as it is read in the same way.
    #[must_use]
    pub fn log_name(&self) -> String {
        match self {
            Self::Kmsg => "kmsg".to_owned(),
            Self::Journal { directory: None } => "journal".to_owned(),
            Self::Journal { directory: Some(directory) } => format!("journal {}", directory.display()),
            Self::File(file) => format!("file {} {}", file.name, file.paths.join(" ")),
        }
    }
}
