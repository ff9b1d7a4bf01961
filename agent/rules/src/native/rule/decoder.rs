//! `decoder`: a rule whose lines contain more than a pattern can express, such as NVIDIA's Xids.

use nodewell_faults::Decoder;
use nodewell_model::Name;

use crate::report::Report;
use nodewell_settings::Section;

/// What the decoder gives in their place.
const SAID_BY_DECODERS: [&str; 11] = [
    "type",
    "condition",
    "severity",
    "action",
    "proof",
    "lines",
    "count",
    "window",
    "revert",
    "inhibit",
    "shows-healthy-condition",
];

/// The decoder that the rule names, and what such a rule must and must not set.
pub(super) fn read(section: Section<'_>, report: &mut Report<'_>) -> Option<Decoder> {
    if !section.has("decoder") {
        return None;
    }
    for key in SAID_BY_DECODERS.into_iter().filter(|key| section.has(key)) {
        report.error(section.position(key), format!("a rule with a \"decoder\" has no {key:?}: the decoder says it"));
    }
    if !section.has("clears") {
        report
            .error(section.at, "a rule with a \"decoder\" lacks \"clears\": how its problems end (boot, quiet, check)");
    }
    section.choice("decoder", &Decoder::ALL.map(|decoder| (decoder.as_str(), decoder)), report)
}

/// What decoders may hold True.
pub(super) fn conditions() -> impl Iterator<Item = Name> {
    ["GpuUnhealthy", "GpuFabricUnhealthy"].into_iter().map(Name::fixed)
}
