//! System-stats monitors side by side: every name is exported once.

use std::collections::HashMap;

use super::Loaded;
use crate::{Diagnostic, Location, Note, npd::stats::SystemStats};

/// The first file that names a metric exports it. The same figure twice is noted; two figures of one name are an error.
pub(super) fn make_distinct(loaded: &mut Loaded) {
    let mut names: HashMap<String, (&'static str, Location)> = HashMap::new();
    for SystemStats { location, metrics, .. } in &mut loaded.set.statistics {
        metrics.retain(|metric| {
            let location_of_metric = Location { file: location.file.clone(), line: metric.line };
            let Some((id, first)) = names.get(&metric.name) else {
                names.insert(metric.name.clone(), (metric.id, location_of_metric));
                return true;
            };
            if *id == metric.id {
                loaded.notes.push(Note::new(location_of_metric, format!("{id} is exported already, by {first}")));
            } else {
                let message =
                    format!("{} would be called {} to Prometheus, as {id} is at {first}", metric.id, metric.name);
                loaded.diagnostics.push(Diagnostic::new(location_of_metric, message));
            }
            false
        });
    }
}
