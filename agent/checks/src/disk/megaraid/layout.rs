//! Answers of a MegaRAID card's firmware, each of a fixed layout, little endian: facts of linux
//! drivers/scsi/megaraid/megaraid_sas.h, QEMU's hw/scsi/mfi.h and FreeBSD's sys/dev/mfi/mfireg.h.

mod configuration;

pub use configuration::{FIRST_BYTES, configuration, configuration_bytes};

use std::collections::BTreeSet;

use super::reading::{Battery, BatteryKind, DiskInfo, VolumeInfo};
use crate::disk::{
    page::{self, PageError, little},
    reading::Identity,
};

/// The lengths that are asked for. More disks than this reports no firmware: 240 are the driver's most (`MAX_SYS_PDS`), and
/// enclosures are on the list too.
pub const DISKS_BYTES: usize = LIST_HEAD + DISKS_LIMIT * ADDRESS_BYTES;
const DISKS_LIMIT: usize = 256;
/// QEMU refuses a longer buffer, older firmware has no more volumes.
pub const VOLUMES_BYTES: usize = LIST_HEAD + VOLUMES_LIMIT * VOLUME_BYTES;
const VOLUMES_LIMIT: usize = 64;
pub const CONTROLLER_BYTES: usize = 2048;
pub const DISK_BYTES: usize = 512;
pub const VOLUME_INFO_BYTES: usize = 384;
pub const BATTERY_BYTES: usize = 64;

const LIST_HEAD: usize = 8;
/// `struct MR_PD_ADDRESS`.
const ADDRESS_BYTES: usize = 24;
/// An entry of `struct MR_LD_LIST`.
const VOLUME_BYTES: usize = 16;
/// Peripheral device types of SCSI that are disks, zoned ones among them; enclosures are on the list too.
const DISK_TYPES: [u8; 2] = [0x00, 0x14];
/// The qualifier in the first byte of INQUIRY data: not 0 where no device answered (SPC-4, 6.4.2).
const QUALIFIER: u8 = 0xe0;

/// A physical disk on the list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskAddress {
    pub device: u16,
    pub enclosure: u16,
    pub slot: u8,
}

/// A virtual disk on the list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeState {
    pub target: u8,
    pub state: u8,
}

/// Product and serial number of the card.
pub fn controller(bytes: &[u8]) -> Result<Identity, PageError> {
    const FIRMWARE_AT: usize = 0x640;
    let bytes: &[u8; 0x6a0] = page::whole("controller's data", bytes)?;
    Ok(Identity {
        model: text(&bytes[0x540..0x590]),
        serial: text(&bytes[0x590..0x5b0]),
        firmware: text(&bytes[FIRMWARE_AT..]),
    })
}

/// The disks on the list, without the enclosures.
pub fn disks(bytes: &[u8]) -> Result<Vec<DiskAddress>, PageError> {
    const PAGE: &str = "list of disks";
    let entries = entries::<ADDRESS_BYTES>(PAGE, bytes, 4)?;
    // The size is that of head and entries: a list that was cut off names more.
    let size = little(bytes.get(..4).unwrap_or_default());
    if size != 0 && size < (LIST_HEAD + entries.len() * ADDRESS_BYTES) as u64 {
        return Err(PageError::Absurd { page: PAGE, what: "a size of", value: size });
    }
    let disk = |entry: &[u8; ADDRESS_BYTES]| {
        let [d0, d1, e0, e1, _, slot, kind, ..] = *entry;
        let address =
            DiskAddress { device: u16::from_le_bytes([d0, d1]), enclosure: u16::from_le_bytes([e0, e1]), slot };
        DISK_TYPES.contains(&kind).then_some(address)
    };
    let disks: Vec<_> = entries.into_iter().filter_map(disk).collect();
    match repeated(disks.iter().map(|disk| disk.device)) {
        Some(value) => Err(PageError::Absurd { page: PAGE, what: "twice disk", value: value.into() }),
        None => Ok(disks),
    }
}

/// The volumes on the list. Zeros read as "offline": another answer has to say the same ([`volume`]).
pub fn volumes(bytes: &[u8]) -> Result<Vec<VolumeState>, PageError> {
    const PAGE: &str = "list of volumes";
    let entries = entries::<VOLUME_BYTES>(PAGE, bytes, 0)?;
    let volumes: Vec<_> = entries.into_iter().map(|entry| VolumeState { target: entry[0], state: entry[4] }).collect();
    match repeated(volumes.iter().map(|volume| u16::from(volume.target))) {
        Some(value) => Err(PageError::Absurd { page: PAGE, what: "twice volume", value: value.into() }),
        None => Ok(volumes),
    }
}

/// The entries of a list whose count is at `count_at`; all of them have to be there.
fn entries<'a, const N: usize>(
    page: &'static str,
    bytes: &'a [u8],
    count_at: usize,
) -> Result<Vec<&'a [u8; N]>, PageError> {
    let short = || PageError::Short { page, length: bytes.len() };
    let (head, rest) = bytes.split_at_checked(LIST_HEAD).ok_or_else(short)?;
    let count = little(head.get(count_at..count_at + 4).unwrap_or_default());
    let (all, _) = rest.as_chunks::<N>();
    match usize::try_from(count) {
        Ok(count) if count <= all.len() => Ok(all.iter().take(count).collect()),
        _ => Err(PageError::Absurd { page, what: "a number of", value: count }),
    }
}

fn repeated(mut ids: impl Iterator<Item = u16>) -> Option<u16> {
    let mut seen = BTreeSet::new();
    ids.find(|id| !seen.insert(*id))
}

/// What the card has of one disk. `None`: it answers with another disk's data, as QEMU does, which looks at one byte of the
/// number only (hw/scsi/megasas.c `megasas_dcmd_pd_get_info`).
pub fn disk(device: u16, bytes: &[u8]) -> Result<Option<DiskInfo>, PageError> {
    let bytes: &[u8; 358] = page::whole("disk's data", bytes)?;
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let word = |at: usize| little(&bytes[at..at + 4]);
    if half(0) != device {
        return Ok(None);
    }
    const REBUILD: u64 = 1;
    /// No disk predicts its failure so often.
    const UNSET: u64 = 0xffff_ffff;
    let rebuild = (word(260) & REBUILD != 0).then(|| percent(half(264)));
    Ok(Some(DiskInfo {
        identity: inquiry(&bytes[4..100]),
        state: half(184),
        media_errors: word(168),
        other_errors: word(172),
        predicted_failures: Some(word(176)).filter(|count| *count != UNSET).unwrap_or_default(),
        rebuild_percent: rebuild,
    }))
}

/// Of 65,535 parts.
fn percent(progress: u16) -> u8 {
    u8::try_from(u32::from(progress) * 100 / u32::from(u16::MAX)).unwrap_or(100)
}

/// Standard INQUIRY data: maker, model, revision, and at the vendor's disposal 20 bytes that begin with the serial number on
/// the disks that such cards take (SPC-4, 6.4.2; FreeBSD's mfiutil shows it so). Of SATA disks some firmware has the words of
/// IDENTIFY DEVICE in their place (MegaCli prints them as they stand): text throughout, where standard data has none. Nothing
/// of a disk that did not answer.
fn inquiry(bytes: &[u8]) -> Identity {
    let raw = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
    let part = |from: usize, to: usize| text(raw(from, to));
    if bytes.first().is_none_or(|first| first & QUALIFIER != 0) {
        return Identity::default();
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    if raw(8, 76).len() == 68 && raw(8, 76).iter().all(is_text) {
        return Identity { model: part(28, 68), serial: part(8, 28), firmware: part(68, 76) };
    }
    let model = format!("{} {}", part(8, 16), part(16, 32));
    Identity { model: model.trim().to_owned(), serial: part(36, 56), firmware: part(32, 36) }
}

/// What the card has of one volume. `None`: it answers with another's.
pub fn volume(target: u8, bytes: &[u8]) -> Result<Option<VolumeInfo>, PageError> {
    let bytes: &[u8; VOLUME_INFO_BYTES] = page::whole("volume's data", bytes)?;
    let info = VolumeInfo { level: level(bytes[32], bytes[37]), name: text(&bytes[4..20]), state: bytes[38] };
    Ok((bytes[0] == target).then_some(info))
}

/// Levels by the DDF standard's numbers; several spans of one level are striped.
fn level(primary: u8, spans: u8) -> String {
    match (primary, spans) {
        (0 | 1 | 5 | 6, 0 | 1) => format!("RAID {primary}"),
        (0 | 1 | 5 | 6, _) => format!("RAID {primary}0"),
        _ => format!("RAID level {primary:#04x}"),
    }
}

/// The battery or capacitor of the cache. Where there is none, the answer is blank.
pub fn battery(bytes: &[u8]) -> Result<Option<Battery>, PageError> {
    const PAGE: &str = "battery's state";
    const OLD_BATTERY: u8 = 2;
    let bytes: &[u8; BATTERY_BYTES] = match page::whole(PAGE, bytes) {
        Err(PageError::Blank { byte: 0, .. }) => return Ok(None),
        other => other?,
    };
    let kind = match bytes[0] {
        0 => return Ok(None),
        OLD_BATTERY => BatteryKind::WithHealth { is_good: bytes[42] != 0 },
        _ => BatteryKind::Other,
    };
    let status = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    // Thirteen bits are known; what sets the upper half is no such status.
    if status >> 16 != 0 {
        return Err(PageError::Absurd { page: PAGE, what: "a status of", value: status.into() });
    }
    Ok(Some(Battery { kind, status }))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    page::text(bytes.iter().copied().take(end))
}
