//! What a daemon reports of itself: diagnostics, to the journal with fields under systemd and to stderr otherwise
//! (`NODEWELL_LOG` sets the level), and its state, to the service manager.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod layer;
mod lines;
pub mod native;
pub mod service_manager;

use std::io::IsTerminal;

use tracing_subscriber::{Layer, Registry, filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

/// Starts logging as `identifier` (`SYSLOG_IDENTIFIER`), at `level` if the environment sets nothing; a second call
/// changes nothing.
pub fn init(identifier: &'static str, level: &str) {
    let wanted = std::env::var("NODEWELL_LOG").unwrap_or_default();
    let _ = Registry::default().with(output(identifier).with_filter(levels(&wanted, level))).try_init();
}

/// What `wanted` sets: a level, or levels of targets; `level` where it is nothing of the kind.
fn levels(wanted: &str, level: &str) -> Targets {
    let parse = |levels: &str| -> Option<Targets> {
        let levels: Vec<&str> = levels.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
        // With `[` spans would be meant, which have no levels here.
        let is_one = !levels.is_empty() && levels.iter().all(|one| !one.contains('['));
        is_one.then(|| levels.join(",").parse().ok())?
    };
    parse(wanted).or_else(|| parse(level)).unwrap_or_default()
}

fn output(identifier: &'static str) -> Box<dyn Layer<Registry> + Send + Sync> {
    if libsystemd::logging::connected_to_journal()
        && let Ok(journal) = layer::JournalLayer::new(identifier)
    {
        return Box::new(journal);
    }
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Box::new(tracing_subscriber::fmt::layer().with_writer(lines::Lines).with_ansi(colours).with_target(false))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::levels;

    #[test]
    fn a_level_and_targets_are_taken_and_nonsense_is_not() {
        let is_on = |wanted: &str, target: &str, level: Level| levels(wanted, "info").would_enable(target, &level);
        assert!(is_on("", "nodewell_agent", Level::INFO) && !is_on("", "nodewell_agent", Level::DEBUG));
        assert!(is_on("debug", "nodewell_agent::socket", Level::DEBUG));
        assert!(is_on("warn,nodewell_agent=trace", "nodewell_agent::socket", Level::TRACE));
        assert!(!is_on("warn,nodewell_agent=trace", "kube", Level::INFO));
        assert!(is_on(" debug, ", "nodewell_agent", Level::DEBUG));
        for wanted in ["a=b=c", "nodewell_agent[span]=debug", ","] {
            let is_default = is_on(wanted, "nodewell_agent", Level::INFO) && !is_on(wanted, "x", Level::DEBUG);
            assert!(is_default, "{wanted}: as if it were not set");
        }
    }
}
