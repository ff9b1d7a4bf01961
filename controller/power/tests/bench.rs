//! A folder of agents, a clock and a leader's time, for the tests of this crate.
#![allow(dead_code)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use nodewell_power::{runner::Runner, supervisor::boottime_millis};
use nodewell_reconcile::lease_deadline::LeaseDeadline;
use nodewell_remediation::{
    method::{AgentAction, IdentityMethod, ValidatedMethod},
    time::Moment,
};
use tokio::{sync::watch, time::sleep};

pub(crate) const SUPERVISOR: &str = env!("CARGO_BIN_EXE_nodewell-supervisor");

pub(crate) struct Bench {
    folder: tempfile::TempDir,
    /// What keeps a leader's time from being over.
    held: std::cell::RefCell<Vec<watch::Sender<Moment>>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), held: Vec::new().into() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(Duration::from_millis(boottime_millis()))
    }

    pub(crate) fn runner(&self) -> Runner {
        let clock = || Moment(Duration::from_millis(boottime_millis()));
        Runner::new(PathBuf::from(SUPERVISOR), vec!["fence-agent".to_owned()], Arc::new(clock))
    }

    /// By a clock to which scripts add seconds, a line each in the file `passed`.
    pub(crate) fn runner_by_scripts(&self) -> Runner {
        let passed = self.path().join("passed");
        let clock = move || {
            let text = fs::read_to_string(&passed).unwrap_or_default();
            let secs: u64 = text.lines().filter_map(|line| line.parse::<u64>().ok()).sum();
            Moment(Duration::from_millis(boottime_millis()) + Duration::from_secs(secs))
        };
        Runner::new(PathBuf::from(SUPERVISOR), vec!["fence-agent".to_owned()], Arc::new(clock))
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        nodewell_kit::write_program(&self.path().join(name), 0o755, &format!("#!/bin/bash\n{text}\n"));
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.read(name).ends_with('\n')
    }

    /// The process whose id a script wrote there is no more.
    pub(crate) fn is_dead(&self, name: &str) -> bool {
        let text = self.read(name);
        let pid: u32 = text.trim().parse().unwrap_or_else(|_| panic!("{name} has no process id: {text:?}"));
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        !status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
    }

    /// A leader's time of so many seconds, which is not renewed.
    pub(crate) fn lease_deadline(&self, secs: u64) -> LeaseDeadline {
        let (sender, lease_deadline) = self.renewed(secs);
        self.held.borrow_mut().push(sender);
        lease_deadline
    }

    pub(crate) fn renewed(&self, secs: u64) -> (watch::Sender<Moment>, LeaseDeadline) {
        let (sender, until) = watch::channel(self.now().plus(Duration::from_secs(secs)));
        (sender, LeaseDeadline::new(1, until))
    }
}

/// A call of `fence_test`.
pub(crate) fn call(longest_secs: u64) -> ValidatedMethod {
    ValidatedMethod {
        name: "pdu".into(),
        agent: "fence_test".into(),
        options: BTreeMap::new(),
        secret: String::new(),
        secret_needed: false,
        needed: [].into(),
        secret_keys: BTreeMap::new(),
        identity_method: IdentityMethod::Asked,
        from_label: std::collections::BTreeSet::new(),
        storage: None,
        actions: [AgentAction::Off, AgentAction::On, AgentAction::Status].into(),
        longest: Duration::from_secs(longest_secs),
    }
}

/// Waits for a state, with a deadline.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("not so within 60 s");
}
