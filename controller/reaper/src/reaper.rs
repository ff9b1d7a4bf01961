//! node-reaper's configuration at work: read, logged, refused where it is dangerous, and one policy more among those of
//! the cluster. Its plug-ins reap the machines.

mod counted;
mod feed;
mod plugins;
#[cfg(test)]
mod tests;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_remediation::{api::policy::Mode, policy::Policy, predicate::Predicate, snapshot::Snapshot, time::Now};
use nodewell_settings::{Diagnostic, Location};
use tokio::time::sleep;

pub use counted::Reaping;
pub use feed::Feeding;
pub use plugins::{PLUGINS, Plugins, Unfit};

use crate::config::{self, POLICY_NAME, Read, ReaperConfig, ReaperDiagnostic};

/// As often as decisions are made at least.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The configuration and the policy made of it. Cheap to clone; copies share whether it may act.
#[derive(Debug, Clone)]
pub struct Reaper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: ReaperConfig,
    policy: Policy,
    /// The cluster was looked at, and nothing speaks against the configuration.
    allowed: AtomicBool,
}

/// Reads the file.
///
/// # Errors
/// Every error, with its line.
pub fn read(file: &Path) -> Result<Read, Vec<Diagnostic>> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| vec![Diagnostic::of_file(file, format!("cannot be read: {error}"))])?;
    parse(file, &text)
}

/// The same of its text.
///
/// # Errors
/// Every error, with its line.
pub fn parse(file: &Path, text: &str) -> Result<Read, Vec<Diagnostic>> {
    config::read(text).map_err(|diagnostics| diagnostics.iter().map(|diagnostic| located(file, diagnostic)).collect())
}

fn located(file: &Path, diagnostic: &ReaperDiagnostic) -> Diagnostic {
    match usize::try_from(diagnostic.line) {
        Ok(line) if line > 0 => Diagnostic::new(Location { file: file.to_owned(), line }, &diagnostic.problem),
        _ => Diagnostic::of_file(file, &diagnostic.problem),
    }
}

impl Reaper {
    /// Without a plug-in nothing can be reaped, so the drain is the last step.
    ///
    /// # Errors
    /// What no policy can be made of.
    pub fn new(config: ReaperConfig, has_plugins: bool) -> Result<Self, Vec<Diagnostic>> {
        let config = ReaperConfig { skip_reaping: config.skip_reaping || !has_plugins, ..config };
        let (spec, judge) = config::to_policy(&config);
        let policy = Policy::compile_with(POLICY_NAME, spec, Predicate::Other(judge)).map_err(|errors| {
            let text = |error| format!("the policy made of node-reaper's configuration: {error}");
            errors.into_iter().map(|error| Diagnostic::of_file("the configuration", text(error))).collect::<Vec<_>>()
        })?;
        Ok(Self(Arc::new(Inner { config, policy, allowed: AtomicBool::new(false) })))
    }

    /// As it counts now: while the cluster was not looked at, or something speaks against it, it only observes.
    #[must_use]
    pub fn policy(&self) -> Policy {
        let allowed = self.0.allowed.load(Ordering::Relaxed);
        Policy { mode: if allowed { self.0.policy.mode } else { Mode::Observe }, ..self.0.policy.clone() }
    }

    /// Looks at what speaks against it in this cluster, which decides whether it may act from now on.
    pub fn look(&self, snapshot: &Snapshot, now: Now) -> Vec<String> {
        let refusals = config::refusals(&self.0.config, snapshot, now);
        self.0.allowed.store(refusals.is_empty(), Ordering::Relaxed);
        refusals
    }

    /// Among the policies, in the order of their names; instead of any other of its name.
    pub fn put(&self, snapshot: &mut Snapshot) {
        snapshot.policies.retain(|other| other.name != POLICY_NAME);
        let index = snapshot.policies.partition_point(|other| other.name.as_str() < POLICY_NAME);
        snapshot.policies.insert(index, self.policy());
    }

    /// Looks again and again, and logs what has changed; never returns. While the watches are not complete nothing is
    /// begun anyway.
    pub async fn guard(&self, cache: &Cache, clock: Clock) {
        let mut last = None;
        loop {
            let now = clock.now();
            let look = |snapshot: &mut Snapshot| {
                let refusals = self.look(snapshot, now);
                self.put(snapshot);
                refusals
            };
            let refusals = cache.with(|snapshot| snapshot.host.synced.then(|| look(snapshot)));
            if refusals.is_some() && refusals != last {
                self.log(refusals.as_deref().unwrap_or_default());
                last = refusals;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    fn log(&self, refusals: &[String]) {
        for reason in refusals {
            tracing::error!(reason, "node-reaper's configuration is refused: its policy only observes");
        }
        match (refusals.is_empty(), self.0.policy.mode) {
            (false, _) => {}
            (true, Mode::Enforce) => tracing::info!("node-reaper's configuration is acted on"),
            (true, _) => tracing::info!("node-reaper's configuration sets dryRun: its policy only observes"),
        }
    }
}

/// What the start logs of it: oddities, and each thing that is done otherwise than by node-reaper.
pub fn announce(file: &Path, read: &Read, has_plugins: bool) {
    let file = file.display();
    for warning in &read.warnings {
        tracing::warn!(%file, warning, "node-reaper's configuration");
    }
    for deviation in config::deviations(&read.config) {
        tracing::info!(%file, deviation, "otherwise than node-reaper");
    }
    if !has_plugins && !read.config.skip_reaping {
        tracing::warn!(%file, "no plug-in is there: nodes are cordoned and drained, and nothing is reaped");
    }
}
