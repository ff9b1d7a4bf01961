//! A daemon's own diagnostics: to the journal with fields under systemd, to stderr otherwise. `NODEWELL_LOG` sets the level.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod layer;
mod lines;
pub mod native;

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, Layer, Registry, layer::SubscriberExt, util::SubscriberInitExt};

/// Starts logging as `identifier` (`SYSLOG_IDENTIFIER`), at `level` if the environment sets nothing; a second call
/// changes nothing.
pub fn init(identifier: &'static str, level: &str) {
    let filter = EnvFilter::try_from_env("NODEWELL_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let _ = Registry::default().with(output(identifier).with_filter(filter)).try_init();
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
