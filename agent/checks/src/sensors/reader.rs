//! Reads `/sys/class/hwmon` (Documentation/hwmon/sysfs-interface.rst), in a worker.

use std::path::{Path, PathBuf};

use glob::Pattern;

use super::{
    SensorsSettings,
    reading::{ALL, Fan, SensorsReading, Temperature},
};
use crate::probe::{RawReading, ReadError, Reader, Roots, attribute};

/// Drivers whose devices have a check of their own, or whose limits are none: GPUs, disks, CPUs (which throttle, and whose
/// alarm stays until it is read by another), and ACPI's thermal zones, whose critical points firmware makes up.
const OTHERS: [&str; 11] =
    ["amdgpu", "radeon", "nouveau", "i915", "xe", "nvme", "drivetemp", "coretemp", "k10temp", "zenpower", "acpitz"];
/// More has no board; what is beyond is not read.
const LIMIT: usize = 256;

/// Reads; in a worker.
#[derive(Debug)]
pub struct SensorsReader {
    class: PathBuf,
    ignored: Vec<Pattern>,
}

/// One monitoring chip.
struct Chip {
    folder: PathBuf,
    name: String,
    /// `max6639 0-002e`: the driver's name and the device's, which both outlive a boot; hwmon's own number does not.
    title: String,
}

impl SensorsReader {
    #[must_use]
    pub fn new(roots: Roots, settings: &SensorsSettings) -> Self {
        let ignored = settings.ignore.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
        Self { class: roots.sys.join("class/hwmon"), ignored }
    }

    fn chips(&self) -> Result<Vec<Chip>, ReadError> {
        let folders = attribute::numbered(&self.class, "hwmon")?;
        let chips = folders.into_iter().filter_map(|(_, folder)| Chip::at(folder));
        let mut chips: Vec<_> = chips.filter(|chip| !OTHERS.contains(&chip.name.as_str())).collect();
        chips.retain(|chip| !self.is_ignored(&[&chip.name, &chip.title]));
        chips.sort_by(|one, other| one.title.cmp(&other.title));
        Ok(chips)
    }

    fn reading(&self) -> Result<SensorsReading, ReadError> {
        let mut reading = SensorsReading::default();
        for chip in self.chips()? {
            reading.fans.extend(chip.numbers("fan").into_iter().map(|number| chip.fan(number)));
            reading.temperatures.extend(chip.numbers("temp").into_iter().map(|number| chip.temperature(number)));
        }
        reading.fans.retain(|fan| !self.is_ignored(&[&fan.subject, fan.label.as_deref().unwrap_or_default()]));
        reading.temperatures.retain(|one| !self.is_ignored(&[&one.subject, one.label.as_deref().unwrap_or_default()]));
        reading.fans.truncate(LIMIT);
        reading.temperatures.truncate(LIMIT);
        Ok(reading)
    }

    fn is_ignored(&self, names: &[&str]) -> bool {
        self.ignored.iter().any(|pattern| names.iter().any(|name| pattern.matches(name)))
    }
}

impl Chip {
    /// Nothing if it goes away meanwhile.
    fn at(folder: PathBuf) -> Option<Self> {
        let name = text(&folder.join("name"))?;
        let device = folder.join("device").canonicalize().ok();
        let device = device.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let title = device.map_or_else(|| name.clone(), |device| format!("{name} {device}"));
        Some(Self { folder, name, title })
    }

    /// The numbers of its sensors of this kind.
    fn numbers(&self, kind: &str) -> Vec<u32> {
        let Ok(entries) = self.folder.read_dir() else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let number = |name: String| name.strip_prefix(kind)?.strip_suffix("_input")?.parse().ok();
        let mut numbers: Vec<u32> = names.filter_map(number).collect();
        numbers.sort_unstable();
        numbers.truncate(LIMIT);
        numbers
    }

    fn fan(&self, number: u32) -> Fan {
        let look = |name: &str| look(&self.folder.join(format!("fan{number}_{name}")));
        let of_output = |name: &str| attribute::number(&self.folder.join(format!("pwm{number}{name}")));
        let alarm = any(["alarm", "min_alarm", "fault"].map(look));
        let rpm = look("input").and_then(|rpm| rpm.and_then(|rpm| u64::try_from(rpm).ok()).ok_or(NotRead));
        Fan {
            subject: format!("fan{number} of {}", self.title),
            label: text(&self.folder.join(format!("fan{number}_label"))),
            rpm: rpm.ok().filter(|_| alarm.is_ok()),
            // Without control (`pwm1_enable` of 0) it turns at full speed, whatever its duty cycle.
            is_off: of_output("") == Some(0) && of_output("_enable") != Some(0),
            alarm: alarm.unwrap_or_default(),
        }
    }

    fn temperature(&self, number: u32) -> Temperature {
        let look = |name: &str| look(&self.folder.join(format!("temp{number}_{name}")));
        let (critical, alarm, fault) = (look("crit"), any(["crit_alarm", "emergency_alarm"].map(look)), look("fault"));
        // A wire that is open or a diode that is missing shows any value.
        let is_read = critical.is_ok() && alarm.is_ok() && matches!(fault, Ok(None | Some(0)));
        Temperature {
            subject: format!("temp{number} of {}", self.title),
            label: text(&self.folder.join(format!("temp{number}_label"))),
            value: look("input").ok().flatten().filter(|_| is_read),
            critical: critical.unwrap_or_default(),
            alarm: alarm.unwrap_or_default(),
        }
    }
}

/// An attribute that is there and cannot be read: a bus that is busy.
struct NotRead;

/// The number in an attribute; nothing if there is no such attribute.
fn look(path: &Path) -> Result<Option<i64>, NotRead> {
    match attribute::text(path) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => text.trim().parse().map(Some).map_err(|_| NotRead),
        Err(_) => Err(NotRead),
    }
}

/// Whether one of them is set; nothing if none is there.
fn any<const N: usize>(looks: [Result<Option<i64>, NotRead>; N]) -> Result<Option<bool>, NotRead> {
    let mut any = None;
    for look in looks {
        any = any.max(look?.map(|number| number == 1));
    }
    Ok(any)
}

impl Reader for SensorsReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        match self.chips()?.is_empty() {
            true => Err(ReadError::Gone { what: self.class.display().to_string() }),
            false => Ok(vec![ALL.to_owned()]),
        }
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        match device {
            ALL => RawReading::of(&self.reading()?),
            _ => Err(ReadError::Gone { what: device.to_owned() }),
        }
    }
}

fn text(path: &Path) -> Option<String> {
    attribute::text(path).ok().flatten().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
