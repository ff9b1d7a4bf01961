//! Events of CXL memory as `trace_pipe` prints them: the formats of drivers/cxl/core/trace.h, all of `name=value` and
//! `name='some words'`. Newer kernels print more of them.

use serde::{Deserialize, Serialize};

use super::ras::hex;

const PAGE_SHIFT: u32 = 12;
/// No page of the host's lies at a device's address that is not mapped (`ULLONG_MAX`).
const UNMAPPED: u64 = u64::MAX;

/// What a device reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CxlEvent {
    /// The kernel's name in this boot: `mem0`.
    pub memdev: String,
    /// Its PCI address.
    pub host: String,
    pub report: CxlReport,
}

/// Of the four events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CxlReport {
    /// `cxl_general_media`, `cxl_dram`.
    Media(MediaError),
    /// `cxl_memory_module`.
    Health(Health),
    /// `cxl_poison`: an entry of the device's list of addresses that lost their data.
    Poison { address: u64 },
}

/// An error of the memory behind the device (CXL 3.1, tables 8-45 and 8-46).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaError {
    pub is_uncorrectable: bool,
    /// `ECC Error`, `Data Path Error`.
    pub kind: String,
    /// By the device's own count.
    pub address: u64,
    /// The host's page frame, where that is known.
    pub frame: Option<u64>,
}

impl MediaError {
    /// Data was lost: what cannot be corrected and is about the memory itself, not about who may ask for what.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        self.is_uncorrectable && (self.kind.contains("ECC") || self.kind.contains("Data Path"))
    }
}

/// The device's health, as a whole (CXL 3.1, tables 8-47 and 8-133).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Why it reports: `Temperature Change`.
    pub change: String,
    /// `MAINTENANCE_NEEDED|REPLACEMENT_NEEDED`, or nothing.
    pub status: String,
    /// `Normal`, `All Data Lost`.
    pub media: String,
    /// `Normal`, `Warning`, `Critical`.
    pub life: String,
}

impl Health {
    /// The device wants to be replaced, or has lost what it holds or how much it holds.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        let is_worn = ["REPLACEMENT_NEEDED", "MEM_CAPACITY_DEGRADED"].iter().any(|flag| self.status.contains(flag));
        // A device is not ready for seconds after a reset.
        is_worn || self.life == "Critical" || !["Normal", "Not Ready"].contains(&self.media.as_str())
    }

    /// For people.
    #[must_use]
    pub fn shown(&self) -> String {
        let flags = self.status.replace('|', ", ").replace('_', " ").to_lowercase();
        let status = if flags.is_empty() { "no warning".to_owned() } else { flags };
        format!("{status}; media {}, life {}", self.media.to_lowercase(), self.life.to_lowercase())
    }
}

/// Reads what follows the event's name; `None` if it is of no event of ours, or cut. What a person put into the list of
/// lost addresses, or took out of it, is none.
pub(super) fn parse(name: &str, payload: &str) -> Option<CxlEvent> {
    let report = match name {
        "cxl_general_media" | "cxl_dram" => CxlReport::Media(media(payload)?),
        "cxl_memory_module" => CxlReport::Health(health(payload)?),
        "cxl_poison" if value(payload, "trace_type") == Some("List") => {
            CxlReport::Poison { address: hex(value(payload, "dpa")?.strip_prefix("0x")?)? }
        }
        _ => return None,
    };
    let [memdev, host] = ["memdev", "host"].map(|name| value(payload, name).map(str::to_owned));
    Some(CxlEvent { memdev: memdev?, host: host?, report })
}

fn media(payload: &str) -> Option<MediaError> {
    let address = hex(value(payload, "dpa")?)?;
    let host_address = value(payload, "hpa").and_then(hex).filter(|address| *address != UNMAPPED);
    Some(MediaError {
        is_uncorrectable: value(payload, "descriptor")?.contains("UNCORRECTABLE"),
        kind: value(payload, "type")?.to_owned(),
        address,
        frame: host_address.map(|address| address >> PAGE_SHIFT),
    })
}

fn health(payload: &str) -> Option<Health> {
    let words = |name| value(payload, name).map(str::to_owned);
    Some(Health {
        change: words("event_type")?,
        status: words("health_status")?,
        media: words("media_status")?,
        life: words("as_life_used")?,
    })
}

fn value<'a>(payload: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!(" {name}=");
    let rest = match payload.strip_prefix(begin.trim_start()) {
        Some(rest) => rest,
        None => payload.split_once(begin.as_str())?.1,
    };
    match rest.strip_prefix('\'') {
        Some(words) => Some(words.split_once('\'')?.0),
        None => rest.split(' ').next(),
    }
}

#[cfg(test)]
pub(super) mod tests;
