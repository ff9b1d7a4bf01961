//! What the BMC's sensors are called, and which memory module is called so as well.

use std::{fmt, path::Path};

use nodewell_model::inventory::Component;
use serde::{Deserialize, Serialize};

use super::{
    event::{SensorState, sensor_type},
    reading::LogRecord,
    sensor_record::{SensorName, generator},
};
use crate::{inventory::dmi, memory::edac};

/// Large servers have some 400 sensors.
const NAMES: usize = 512;
/// More modules has no node.
const MODULES: usize = 512;

/// All names that are known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct SensorNames(Vec<SensorName>);

impl SensorNames {
    /// A sensor that has another name now has that alone.
    pub(super) fn take(&mut self, names: Vec<SensorName>) {
        for new in names {
            let is_its = |known: &SensorName| (known.generator, known.number) == (new.generator, new.number);
            match self.0.iter().position(is_its) {
                Some(at) => self.0[at] = new,
                None if self.0.len() < NAMES => self.0.push(new),
                None => {}
            }
        }
    }

    pub(super) fn of(&self, state: &SensorState) -> Option<&str> {
        let key = (generator(state.generator), state.number);
        let name = self.0.iter().find(|name| (name.generator, name.number) == key)?;
        Some(&name.name)
    }
}

/// A memory module that the kernel (EDAC) or the firmware's tables (SMBIOS) name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NamedModule {
    name: String,
    /// By the firmware's tables; empty if they do not have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    model: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    serial: String,
}

impl NamedModule {
    fn of_component(module: Component) -> Self {
        Self { name: module.slot, model: module.model, serial: module.serial }
    }

    fn of_label(name: String) -> Self {
        Self { name, model: String::new(), serial: String::new() }
    }

    /// The module that is called as a sensor is.
    pub(super) fn called<'m>(modules: &'m [Self], sensor: &str) -> Option<&'m Self> {
        modules.iter().find(|module| module.name.eq_ignore_ascii_case(sensor))
    }
}

impl fmt::Display for NamedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let serial = if self.serial.is_empty() { String::new() } else { format!("serial {}", self.serial) };
        let known = [self.model.as_str(), serial.as_str()].into_iter().filter(|word| !word.is_empty());
        match known.collect::<Vec<_>>().join(", ") {
            about if about.is_empty() => f.write_str(&self.name),
            about => write!(f, "{} ({about})", self.name),
        }
    }
}

/// The modules, where an entry of the log is of a memory sensor: only then one of them may be meant.
pub(super) fn modules(sys: &Path, records: &[LogRecord]) -> Vec<NamedModule> {
    let is_of_memory = |record: &LogRecord| record.record[SENSOR_TYPE] == sensor_type::MEMORY;
    if !records.iter().any(is_of_memory) {
        return Vec::new();
    }
    let tables = dmi::table(sys).and_then(|table| dmi::modules(&table)).unwrap_or_default();
    let by_firmware = tables.into_iter().map(NamedModule::of_component);
    let modules = by_firmware.chain(edac_labels(sys).into_iter().map(NamedModule::of_label));
    modules.filter(|module| !module.name.is_empty()).take(MODULES).collect()
}

/// Where an event's record has its sensor's type (IPMI 2.0, table 32-1).
const SENSOR_TYPE: usize = 10;

fn edac_labels(sys: &Path) -> Vec<String> {
    let controllers = edac::controllers(sys).unwrap_or_default();
    let read = controllers.into_iter().filter_map(|(_, directory)| edac::read(&directory).ok().flatten());
    read.flat_map(|controller| controller.modules).map(|module| module.label).collect()
}
