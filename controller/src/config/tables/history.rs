//! What is left of what was done.

use std::{path::PathBuf, time::Duration};

use nodewell_settings::{
    Key, Table,
    kind::{Maybe, Path, TimeOrNone},
};

/// `[records]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordsTable {
    pub(crate) keep_ended: Duration,
}

impl Table for RecordsTable {
    const NAME: &'static str = "[records]";
    const ABOUT: &'static str = "What is left of what was done.";

    fn keys() -> Vec<Key<Self>> {
        let help = "For how long a copy of a record that ended is kept (NODE-ended-xxxxxxxx).";
        vec![Self::key("keep-ended", |it| &mut it.keep_ended, TimeOrNone).help(help)]
    }
}

impl Default for RecordsTable {
    fn default() -> Self {
        Self { keep_ended: Duration::from_hours(24) }
    }
}

/// `[audit]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AuditTable {
    pub(crate) file: Option<PathBuf>,
}

impl Table for AuditTable {
    const NAME: &'static str = "[audit]";
    const ABOUT: &'static str = "A line for each act that cannot be taken back and each change of a record, beside the \
                                 journal's.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("file", |it| &mut it.file, Maybe(Path))
                .help("If unset, where the unit has a folder for it.")
                .example(r#""/var/log/nodewell-controller/audit.jsonl""#),
        ]
    }
}
