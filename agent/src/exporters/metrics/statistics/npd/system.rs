//! `host` and `osFeature` of the file: how long the system has been up, and what it has that others have not.

use nodewell_checks::statistics::modules::Module;

use super::{MetricDefinition, MetricInputs, MetricType, Samples};

pub(super) const DEFINITIONS: &[MetricDefinition] = &[
    MetricDefinition {
        id: "host/uptime",
        kind: MetricType::Gauge,
        labels: &["kernel_version", "os_version"],
        help: "Time since boot, in seconds.",
        write: |samples, inputs| {
            let labels = [("kernel_version", &*inputs.host.kernel_version), ("os_version", &*inputs.host.os_version)];
            let uptime = inputs.sample.reading.uptime_secs();
            // Whole seconds, as there.
            uptime.into_iter().for_each(|uptime| samples.add(&labels, uptime.floor()));
        },
    },
    MetricDefinition {
        id: "system/os_feature",
        kind: MetricType::Gauge,
        labels: &["os_feature", "value?"],
        help: "1 if the system has the feature; `value` says what of it.",
        write: |samples, inputs| {
            command_line_features(samples, inputs);
            module_features(samples, inputs);
        },
    },
];

/// The names of unknown modules are a label: as many as a person reads.
const UNKNOWN_LIMIT_BYTES: usize = 512;

fn command_line_features(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>) {
    let mut feature = |name: &str, is_on: bool| samples.add(&[("os_feature", name)], f64::from(u8::from(is_on)));
    feature("UnifiedCgroupHierarchy", inputs.sample.mounts.has_unified_cgroups);
    let Some(line) = inputs.sample.reading.command_line() else { return };
    let is_set = |key: &str| words(&line).any(|word| word.split_once('=') == Some((key, "1")));
    feature("KTD", is_set("csm.enabled"));
    feature("KernelModuleIntegrity", is_set("module.sig_enforce") && is_set("loadpin.enabled"));
}

/// Words may be quoted, and a word may have a quoted part (Documentation/admin-guide/kernel-parameters.rst).
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut quoted = false;
    let parts = line.split(move |c: char| {
        quoted ^= c == '"';
        !quoted && c.is_ascii_whitespace()
    });
    parts.map(|word| word.replace('"', ""))
}

fn module_features(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>) {
    let Some(modules) = inputs.sample.reading.modules() else { return };
    let is_gpu = |module: &Module| module.name.contains("nvidia");
    let gpu = f64::from(u8::from(modules.iter().any(is_gpu)));
    samples.add(&[("os_feature", "GPUSupport")], gpu);
    let known = &inputs.monitor.known_modules;
    let is_foreign = |module: &&Module| module.is_out_of_tree || module.is_proprietary;
    let unknown: Vec<&str> = modules
        .iter()
        .filter(is_foreign)
        .filter(|module| !is_gpu(module) && !known.contains(&module.name))
        .map(|module| module.name.as_str())
        .collect();
    if unknown.is_empty() {
        return samples.add(&[("os_feature", "UnknownModules")], 0.0);
    }
    let names = unknown.join(",");
    let value = nodewell_model::text::cut(&names, UNKNOWN_LIMIT_BYTES);
    samples.add(&[("os_feature", "UnknownModules"), ("value", value)], 1.0);
}
