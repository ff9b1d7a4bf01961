//! What a record's name contains: `dmesg-efi-163214523501001`, `dmesg-erst-7530486857247031297.enc.z`,
//! `console-ramoops-0`.

use std::path::Path;

use jiff::Timestamp;

/// What is left of a record that the kernel could not unpack (`pstore_mkfile`).
const COMPRESSED: &str = ".enc.z";
/// Before this the agent did not exist: an id of an earlier time is no time.
const EARLIEST: i64 = 1_420_070_400;
/// The year 2100.
const LATEST: i64 = 4_102_444_800;

/// See the top of this file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RecordName {
    pub(super) text: String,
    pub(super) time: Option<Timestamp>,
    pub(super) compressed: bool,
    pub(super) console: bool,
}

impl RecordName {
    /// Of a file, by its own name or by that of its folders, where systemd-pstore puts the id.
    pub(super) fn of_path(path: &Path) -> Self {
        let text = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let folders = || path.parent().into_iter().flat_map(Path::iter).find_map(|name| folder_time(name.to_str()?));
        let time = record_time(text.trim_end_matches(COMPRESSED)).or_else(folders);
        Self { time, compressed: text.ends_with(COMPRESSED), console: text.starts_with("console-"), text }
    }

    /// Of a line in `dmesg.txt` that names the record below: `dmesg-efi-163214523501001:`.
    pub(super) fn of_line(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line.trim_ascii_end()).ok()?;
        let name = line.strip_suffix(':').filter(|name| name.len() < 128 && name.starts_with("dmesg-"))?;
        name.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Self::of_path(Path::new(name)))
    }
}

/// EFI: seconds, then two digits of the part and three of the count (`efi_pstore_write`). ERST: a number counted up from
/// the seconds shifted by 32 bits (`cper_next_record_id`).
fn record_time(name: &str) -> Option<Timestamp> {
    let (backend, id) = name.rsplit_once('-')?;
    let id: u64 = id.parse().ok()?;
    match backend.rsplit_once('-')?.1 {
        "efi" | "efi_pstore" => plausible(id / 100_000),
        "erst" => plausible(id >> 32),
        _ => None,
    }
}

/// A folder of the archive: an EFI record's seconds, or an ERST record's number, whole or without its last six digits.
fn folder_time(name: &str) -> Option<Timestamp> {
    let id: u64 = name.parse().ok()?;
    let whole = || plausible(id >> 32);
    let cut = || id.checked_mul(1_000_000).and_then(|id| plausible(id >> 32));
    // Older systemds cut an EFI record's id one digit short of its seconds.
    let tens = || id.checked_mul(10).and_then(plausible);
    plausible(id).or_else(whole).or_else(cut).or_else(tens)
}

fn plausible(since_epoch_secs: u64) -> Option<Timestamp> {
    let secs = i64::try_from(since_epoch_secs).ok().filter(|secs| (EARLIEST..LATEST).contains(secs))?;
    Timestamp::from_second(secs).ok()
}
