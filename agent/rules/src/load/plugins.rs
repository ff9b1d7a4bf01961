//! Plug-ins of all files together: daemons' names that no other daemon has, tasks' names that are there once.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::Loaded;
use crate::{
    Diagnostic, Location, Note,
    plugin::{PluginMonitor, Task},
    rule::Format,
};

/// Problem daemons and monitors of ours; a file that is named so reports under another name.
const OURS: [&str; 9] =
    ["agent", "check", "disk", "gpu", "services", "repair", "repairs", "statistics", "check-processes"];

pub(super) fn settle(loaded: &mut Loaded) {
    rename_daemons(loaded);
    find_duplicates(loaded);
}

/// Claims are stored by the daemon's name: programs must not overwrite what a log monitor reports.
fn rename_daemons(loaded: &mut Loaded) {
    let Loaded { set, notes, .. } = loaded;
    let monitors: HashSet<&Arc<str>> = set.rules.iter().map(|rule| &rule.monitor).collect();
    let is_taken = |name: &str| monitors.iter().any(|taken| ***taken == *name) || OURS.contains(&name);
    for plugin in set.plugins.iter_mut().filter(|plugin| plugin.format == Format::Npd && has_programs(plugin)) {
        let spelled = spelled(&plugin.source);
        let base = if is_taken(&spelled) { format!("{spelled}-custom") } else { spelled };
        let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(base);
        if *free != *plugin.source {
            let message = format!("the monitor {:?} is the problem daemon {free:?} here", plugin.source);
            notes.push(Note::new(plugin.location.clone(), message));
            plugin.source = free.into();
        }
    }
}

fn has_programs(plugin: &PluginMonitor) -> bool {
    plugin.tasks.iter().any(|task| matches!(task.task, Task::Run { .. }))
}

/// What the agent's socket takes for a daemon's name.
fn spelled(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let spelled: String = name.chars().map(plain).take(nodewell_model::report::SOURCE_LIMIT_BYTES - 16).collect();
    if spelled.is_empty() { "custom-plugin-monitor".to_owned() } else { spelled }
}

fn find_duplicates(loaded: &mut Loaded) {
    let mut known: HashMap<String, Location> = HashMap::new();
    let Loaded { set, diagnostics, .. } = loaded;
    for plugin in set.plugins.iter().filter(|plugin| plugin.format == Format::Native) {
        for task in &plugin.tasks {
            let Some(first) = known.insert(task.name.clone(), task.location.clone()) else { continue };
            let message = format!("duplicate: a plug-in {:?} is there already, at {first}", task.name);
            diagnostics.push(Diagnostic::new(task.location.clone(), message));
        }
    }
}
