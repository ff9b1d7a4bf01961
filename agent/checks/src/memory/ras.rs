//! RAS trace events as `trace_pipe` prints them: the formats of include/ras/ras_event.h and include/trace/events/mce.h.

use serde::{Deserialize, Serialize};

use super::cxl::{self, CxlEvent};

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RasEvent {
    /// `ras:mc_event`: EDAC received an error.
    Memory(MemoryEvent),
    /// `memory_failure_event`: the page of this frame lost data.
    Page { frame: u64 },
    /// `mce:mce_record`: a machine check bank reported.
    MachineCheck(MachineCheck),
    /// A device of CXL memory reported.
    Cxl(CxlEvent),
    /// So many events were overwritten before they were read.
    Lost { events: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEvent {
    pub corrected: bool,
    pub label: String,
    /// The driver's message, such as `memory read error`.
    pub what: String,
    pub address: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCheck {
    pub cpu: u32,
    pub bank: u32,
    /// MCi_STATUS (Intel SDM volume 3, 16.3.2.2; AMD APM volume 2, 9.3.2.2).
    pub status: u64,
    /// MCA_IPID, which gives the kind of bank; 0 but on AMD's scalable MCA.
    pub ipid: u64,
    pub address: u64,
}

const UNCORRECTED: u64 = 1 << 61;
const ADDRESS_VALID: u64 = 1 << 58;
/// The hardware id of AMD's memory controllers (arch/x86/kernel/cpu/mce/amd.c, SMCA_UMC and SMCA_UMC_V2).
const AMD_MEMORY_CONTROLLER: u64 = 0x96;
const PAGE_SHIFT: u32 = 12;

impl MachineCheck {
    #[must_use]
    pub fn is_uncorrected(&self) -> bool {
        self.status & UNCORRECTED != 0
    }

    /// Whether a memory controller reports, and so the CPU is only the messenger: the codes `000F 0000 1MMM CCCC` and
    /// `000F 0010 1MMM CCCC` of Intel's architecture (SDM volume 3, table 16-10), the bank's kind on AMD.
    #[must_use]
    pub fn is_of_memory(&self) -> bool {
        let controller = matches!(self.status & 0xef80, 0x0080 | 0x0280);
        controller || (self.ipid >> 32) & 0xfff == AMD_MEMORY_CONTROLLER
    }

    /// The page frame that it is about, if it names one.
    #[must_use]
    pub fn frame(&self) -> Option<u64> {
        (self.status & ADDRESS_VALID != 0).then_some(self.address >> PAGE_SHIFT)
    }
}

impl MemoryEvent {
    #[must_use]
    pub fn frame(&self) -> u64 {
        self.address >> PAGE_SHIFT
    }
}

/// Reads one line of `trace_pipe`; `None` if it is of no event of ours, or cut.
#[must_use]
pub fn parse(line: &str) -> Option<RasEvent> {
    if let Some(lost) = lost_events(line) {
        return Some(RasEvent::Lost { events: lost });
    }
    let (name, payload) = event(line)?;
    match name {
        "mc_event" => memory_event(payload),
        "memory_failure_event" => page(payload),
        "mce_record" => machine_check(payload),
        _ => cxl::parse(name, payload).map(RasEvent::Cxl),
    }
}

/// `CPU:3 [LOST 17 EVENTS]`
fn lost_events(line: &str) -> Option<u64> {
    let (cpu, lost) = line.strip_prefix("CPU:")?.split_once(" [LOST ")?;
    cpu.parse::<u32>().ok()?;
    lost.strip_suffix(" EVENTS]")?.parse().ok()
}

/// `          <idle>-0       [001] d.h1.   123.456789: mc_event: 1 Corrected error: …`: the name and what follows it.
fn event(line: &str) -> Option<(&str, &str)> {
    // Any program can choose the task's name, but it always takes 16 columns: it is never looked at.
    let rest = line.get(16..)?.strip_prefix('-')?;
    let (_, rest) = rest.split_once("] ")?;
    let (_, rest) = rest.split_once(": ")?;
    rest.split_once(": ")
}

/// `1 Corrected error: memory read error on DIMM_A1 (mc:0 location:0:1:-1 address:0x12345040 grain:64 …)`
fn memory_event(payload: &str) -> Option<RasEvent> {
    let (head, place) = payload.split_once(" (mc:")?;
    let (count, rest) = head.split_once(' ')?;
    count.parse::<u32>().ok()?;
    let (kind, rest) = rest.split_once(" error")?;
    let (_, rest) = rest.split_once(':')?;
    let (what, label) = rest.split_once(" on ")?;
    let corrected = match kind {
        "Corrected" => true,
        "Uncorrected" | "Deferred" | "Fatal" => false,
        _ => return None,
    };
    let address = hex(after(place, "address:0x")?)?;
    Some(RasEvent::Memory(MemoryEvent { corrected, label: label.to_owned(), what: what.trim().to_owned(), address }))
}

/// `pfn 0x25af: recovery action for dirty LRU page: Recovered`
fn page(payload: &str) -> Option<RasEvent> {
    let frame = hex(payload.strip_prefix("pfn 0x")?)?;
    Some(RasEvent::Page { frame })
}

/// `CPU: 0, MCGc/s: 1000c0a/5, MC1: bd80000000000134, IPID: …, ADDR/MISC/SYND: …/…/…, …`, or `ADDR: …` from 6.10 on.
fn machine_check(payload: &str) -> Option<RasEvent> {
    let cpu = payload.strip_prefix("CPU: ")?.split(',').next()?.parse().ok()?;
    let rest = after(payload, ", MCGc/s: ")?;
    let (bank, rest) = after(rest, ", MC")?.split_once(": ")?;
    let address = after(rest, ", ADDR/MISC/SYND: ").or_else(|| after(rest, ", ADDR: "))?;
    let ipid = after(rest, ", IPID: ").and_then(hex).unwrap_or(0);
    let check = MachineCheck { cpu, bank: bank.parse().ok()?, status: hex(rest)?, ipid, address: hex(address)? };
    Some(RasEvent::MachineCheck(check))
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

/// The hexadecimal number that `text` begins with.
pub(super) fn hex(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    u64::from_str_radix(&text[..end], 16).ok()
}

#[cfg(test)]
mod tests;
