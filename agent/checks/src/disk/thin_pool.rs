//! Thin pools, by the device mapper's status of them: how full, and what the kernel lets them do.

use std::path::PathBuf;

use super::{
    device_mapper::{self, Line},
    part::Part,
    reading::{Health, Identity, PoolMode, PoolReading, PoolStatus},
    sysfs,
};
use crate::probe::{ReadError, Roots};

const TARGET: &str = "thin-pool";

/// All of them, by their device numbers, which is what the kernel log names them by: `253:4`.
pub(super) fn all(sys_blocks: &[String], roots: &Roots) -> Vec<String> {
    let maps = sys_blocks.iter().filter(|name| name.starts_with("dm-"));
    maps.filter(|name| is_one(roots, name)).filter_map(|name| sysfs::word(&folder(roots, name), "dev")).collect()
}

/// Whether `name` is a device number.
pub(super) fn is_number(name: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once(':').is_some_and(|(major, minor)| is_digits(major) && is_digits(minor))
}

/// What people call the pool with that number: `vg-pool-tpool`. `None` if it is not there.
pub(super) fn map_name(roots: &Roots, number: &str) -> Option<String> {
    let name = map_of(roots, number)?;
    Some(sysfs::word(&folder(roots, &name).join("dm"), "name").unwrap_or_default())
}

/// The device mapper calls its devices by their minor numbers (drivers/md/dm.c alloc_dev).
fn map_of(roots: &Roots, number: &str) -> Option<String> {
    let (_, minor) = number.split_once(':').filter(|_| is_number(number))?;
    let name = format!("dm-{minor}");
    (sysfs::word(&folder(roots, &name), "dev")? == number && is_one(roots, &name)).then_some(name)
}

fn folder(roots: &Roots, name: &str) -> PathBuf {
    roots.sys.join("block").join(name)
}

/// Whether the map `name`, such as `dm-4`, is one: by what LVM (lib/activate/dev_manager.c) and Stratis call theirs.
/// Of maps without a name of that kind, which containerd's and other pools are, the device mapper is asked.
fn is_one(roots: &Roots, name: &str) -> bool {
    let dm = folder(roots, name).join("dm");
    match sysfs::word(&dm, "uuid") {
        Some(uuid) => {
            let is_of_lvm = uuid.starts_with("LVM-") && uuid.ends_with("-tpool");
            is_of_lvm || (uuid.starts_with("stratis-") && uuid.ends_with("-thinpool-pool"))
        }
        None => dm.is_dir() && is_target(roots, name),
    }
}

fn is_target(roots: &Roots, name: &str) -> bool {
    let Some(number) = sysfs::word(&folder(roots, name), "dev") else { return false };
    device_mapper::target(roots, name, &number, Line::Status).is_ok_and(|target| target.kind == TARGET)
}

/// The pool with that number. The kernel reuses the numbers of maps: a pool is known by its own name.
pub(super) fn read(roots: &Roots, number: &str) -> Result<(Identity, Health), ReadError> {
    let Some(name) = map_of(roots, number) else {
        return Err(ReadError::Gone { what: number.to_owned() });
    };
    let word = |file| sysfs::word(&folder(roots, &name).join("dm"), file);
    let (map, uuid) = (word("name").unwrap_or_default(), word("uuid"));
    let identity = Identity { serial: uuid.unwrap_or_else(|| map.clone()), ..Identity::default() };
    let status = Part::of(status(roots, &name, number))?;
    Ok((identity, Health::Pool(PoolReading { name: map, status })))
}

fn status(roots: &Roots, name: &str, number: &str) -> Result<PoolStatus, ReadError> {
    let target = device_mapper::target(roots, name, number, Line::Status)?;
    let parsed = if target.kind == TARGET { parse(&target.line) } else { None };
    let Some(mut status) = parsed else {
        return Err(ReadError::Failed { message: format!("{name}: not a thin pool's status: {:?}", target.line) });
    };
    if status.mode == PoolMode::ReadOnly {
        let table = device_mapper::target(roots, name, number, Line::Table)?;
        if is_read_only_by_order(&table.line) {
            status.mode = PoolMode::ReadOnlyByOrder;
        }
    }
    Ok(status)
}

/// The status line of a pool (drivers/md/dm-thin.c pool_status): transaction, used/total blocks of metadata, used/total
/// blocks of data, root of a metadata snapshot, mode, and words that came with kernels; `Fail` alone for one that has
/// failed.
pub(super) fn parse(line: &str) -> Option<PoolStatus> {
    let mut words = line.split_ascii_whitespace();
    let transaction = words.next()?;
    if transaction == "Fail" {
        return Some(PoolStatus { mode: PoolMode::Failed, ..PoolStatus::default() });
    }
    transaction.parse::<u64>().ok()?;
    let (metadata_percent, data_percent) = (percent(words.next()?)?, percent(words.next()?)?);
    words.next()?;
    let mode = match words.next()? {
        "rw" => PoolMode::Write,
        "ro" => PoolMode::ReadOnly,
        "out_of_data_space" => PoolMode::OutOfDataSpace,
        _ => return None,
    };
    let needs_check = words.any(|word| word == "needs_check");
    Some(PoolStatus { data_percent, metadata_percent, mode, needs_check })
}

/// Of `used/total`, rounded down.
fn percent(fill: &str) -> Option<u8> {
    let (used, total) = fill.split_once('/')?;
    let (used, total): (u64, u64) = (used.parse().ok()?, total.parse().ok()?);
    if used > total {
        return None;
    }
    u8::try_from((u128::from(used) * 100).checked_div(u128::from(total))?).ok()
}

/// By the table line: two devices, size of a block, low water mark, number of features, features (emit_flags).
fn is_read_only_by_order(table: &str) -> bool {
    table.split_ascii_whitespace().skip(5).any(|word| word == "read_only")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pool_is_one_by_its_number() {
        for name in ["253:4", "8:16"] {
            assert!(is_number(name), "{name}");
        }
        for name in ["0000:03:00.0", "253:", ":4", "dm-4", "phy-0:3", "../253:4"] {
            assert!(!is_number(name), "{name}");
        }
    }

    #[test]
    fn without_the_device_mapper_a_pool_offers_nothing_and_what_is_gone_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots { sys: root.path().to_owned(), dev: root.path().join("dev"), ..Roots::default() };
        let folder = root.path().join("block/dm-4");
        std::fs::create_dir_all(folder.join("dm")).unwrap();
        for (file, text) in [("dev", "253:4\n"), ("dm/name", "vg-pool-tpool\n"), ("dm/uuid", "LVM-abc-tpool\n")] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        let pool = PoolReading { name: "vg-pool-tpool".to_owned(), status: Part::Absent };
        let (identity, health) = read(&roots, "253:4").unwrap();
        assert_eq!((identity.serial.as_str(), health), ("LVM-abc-tpool", Health::Pool(pool)));
        for number in ["253:5", "252:4", "../4", "253:../4"] {
            assert!(matches!(read(&roots, number), Err(ReadError::Gone { .. })), "{number}");
        }
    }

    fn status(data_percent: u8, metadata_percent: u8, mode: PoolMode) -> PoolStatus {
        PoolStatus { data_percent, metadata_percent, mode, needs_check: false }
    }

    #[test]
    fn a_pools_status_is_read_of_old_kernels_and_new_ones() {
        let line = "1 142/1024 1594/1600 - rw no_discard_passdown queue_if_no_space - 1024 ";
        assert_eq!(parse(line), Some(status(99, 13, PoolMode::Write)));
        assert_eq!(parse("0 26/1024 0/1600 - rw discard_passdown"), Some(status(0, 2, PoolMode::Write)));
        let full = "7 1024/1024 1600/1600 533 out_of_data_space discard_passdown error_if_no_space - 1024";
        assert_eq!(parse(full), Some(status(100, 100, PoolMode::OutOfDataSpace)));
        let broken = parse("7 9/1024 8/1600 - ro discard_passdown queue_if_no_space needs_check 1024 ").unwrap();
        assert_eq!((broken.mode, broken.needs_check), (PoolMode::ReadOnly, true));
        assert_eq!(parse("Fail").map(|pool| pool.mode), Some(PoolMode::Failed));
    }

    #[test]
    fn what_is_no_status_is_none() {
        let lines = [
            "",
            "Error",
            "1",
            "1 2/3",
            "1 2/3 4/5 -",
            "1 3/2 4/5 - rw",
            "1 0/0 4/5 - rw",
            "1 2/3 4/5 - wo",
            "-1 2/3 4/5 - rw",
            "1 a/b 4/5 - rw",
        ];
        for line in lines {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_table_shows_what_was_asked_for() {
        assert!(is_read_only_by_order("253:1 253:2 128 0 2 skip_block_zeroing read_only "));
        assert!(!is_read_only_by_order("253:1 253:2 128 0 0 "));
        assert!(!is_read_only_by_order("253:1 253:2 128 0 1 error_if_no_space "));
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line in "[0-9/ a-z_-]{0,80}") {
            if let Some(pool) = parse(&line) {
                prop_assert!(pool.data_percent <= 100 && pool.metadata_percent <= 100);
            }
        }
    }
}
