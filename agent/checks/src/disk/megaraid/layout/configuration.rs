//! Which disks make which volumes: the answer to `MR_DCMD_CFG_READ`, arrays of disks and volumes on spans of arrays.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::{
    megaraid::reading::{Configuration, Member},
    page::{self, PageError, little},
};

/// FreeBSD's mfiutil asks for as much first and for the rest then; QEMU refuses a longer buffer.
pub const FIRST_BYTES: usize = 4096;
/// 128 arrays of 288 bytes and 256 volumes of 256 are not more.
const LIMIT_BYTES: usize = 128 * 1024;
const HEAD: usize = 32;
/// `struct mfi_array`: head, then a row of eight bytes for each disk.
const ARRAY_HEAD: usize = 32;
const ROW: usize = 8;
/// `struct mfi_ld_config`: properties, parameters, eight spans of 24 bytes.
const VOLUME_BYTES: usize = 256;
const SPANS_AT: usize = 64;
const SPAN: usize = 24;
/// In place of a disk's number where the array lacks one.
const MISSING: u16 = 0xffff;
const MEMBERS_LIMIT: usize = 256;
const PAGE: &str = "configuration";

/// How long the whole answer is, by its first bytes; `None` if that is no more than these.
pub fn configuration_bytes(first: &[u8]) -> Result<Option<usize>, PageError> {
    let size = little(first.get(..4).unwrap_or_default());
    match usize::try_from(size) {
        Ok(size) if size <= first.len() => Ok(None),
        Ok(size) if size <= LIMIT_BYTES => Ok(Some(size)),
        _ => Err(PageError::Absurd { page: PAGE, what: "a size of", value: size }),
    }
}

/// The whole answer.
pub fn configuration(bytes: &[u8]) -> Result<Configuration, PageError> {
    let parts = Parts::of(bytes)?;
    let arrays: BTreeMap<u16, Array<'_>> = parts.arrays.iter().map(|bytes| Array::of(bytes)).collect();
    let mut members: BTreeMap<u16, Member> = BTreeMap::new();
    let mut lacking = BTreeSet::new();
    for volume in &parts.volumes {
        let (target, spans) = (volume[0], usize::from(volume[37]).clamp(1, 8));
        let number = |n: usize| half(volume, SPANS_AT + n * SPAN + 16);
        for (device, state) in (0..spans).filter_map(|n| arrays.get(&number(n))).flat_map(Array::rows) {
            if device == MISSING {
                lacking.insert(target);
                continue;
            }
            let member = members.entry(device).or_insert_with(|| Member { device, state, volumes: Vec::new() });
            if !member.volumes.contains(&target) {
                member.volumes.push(target);
            }
        }
    }
    if members.len() > MEMBERS_LIMIT {
        return Err(PageError::Absurd { page: PAGE, what: "a number of disks of", value: members.len() as u64 });
    }
    Ok(Configuration { members: members.into_values().collect(), lacking: lacking.into_iter().collect() })
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::try_from(little(bytes.get(at..at + 2).unwrap_or_default())).unwrap_or_default()
}

struct Parts<'a> {
    arrays: Vec<&'a [u8]>,
    volumes: Vec<&'a [u8]>,
}

impl<'a> Parts<'a> {
    /// The head has number and size of each kind of entry, and the size of all: the firmware gives the size of one entry, QEMU
    /// that of all entries of a kind. What adds up neither way is no configuration.
    fn of(bytes: &'a [u8]) -> Result<Self, PageError> {
        let head: &[u8; HEAD] = page::whole(PAGE, bytes)?;
        let size = little(&head[..4]) as usize;
        let [arrays, volumes, spares] = [4, 8, 12].map(|at| Kind::of(head, at));
        let of_one = [arrays, volumes, spares].into_iter().map(Kind::all).fold(HEAD, usize::saturating_add);
        let of_all = HEAD + arrays.size + volumes.size;
        let [arrays, volumes] = match size {
            size if size == of_one => [arrays, volumes],
            size if size == of_all => [arrays.divided(), volumes.divided()],
            _ => return Err(PageError::Absurd { page: PAGE, what: "a size of", value: size as u64 }),
        };
        let short = PageError::Short { page: PAGE, length: bytes.len() };
        let (all, rest) = bytes[HEAD..].split_at_checked(arrays.all()).ok_or(short.clone())?;
        let arrays = arrays.entries(all, ARRAY_HEAD + ROW)?;
        let volumes = volumes.entries(rest.get(..volumes.all()).ok_or(short)?, VOLUME_BYTES)?;
        Ok(Self { arrays, volumes })
    }
}

/// Entries of one kind: how many there are, and how long each is.
#[derive(Clone, Copy)]
struct Kind {
    count: usize,
    size: usize,
}

impl Kind {
    fn of(head: &[u8], at: usize) -> Self {
        Self { count: usize::from(half(head, at)), size: usize::from(half(head, at + 2)) }
    }

    fn all(self) -> usize {
        self.count * self.size
    }

    fn divided(self) -> Self {
        Self { size: self.size.checked_div(self.count).unwrap_or_default(), ..self }
    }

    fn entries(self, bytes: &[u8], least: usize) -> Result<Vec<&[u8]>, PageError> {
        if self.count > 0 && self.size < least {
            return Err(PageError::Absurd { page: PAGE, what: "an entry's size of", value: self.size as u64 });
        }
        Ok(bytes.chunks_exact(self.size.max(1)).take(self.count).collect())
    }
}

struct Array<'a> {
    rows: &'a [u8],
    count: usize,
}

impl<'a> Array<'a> {
    /// With its number.
    fn of(bytes: &'a [u8]) -> (u16, Self) {
        let rows = bytes.get(ARRAY_HEAD..).unwrap_or_default();
        (half(bytes, 10), Self { rows, count: usize::from(bytes[8]) })
    }

    /// Each disk's number and state.
    fn rows(&self) -> impl Iterator<Item = (u16, u16)> {
        self.rows.chunks_exact(ROW).take(self.count).map(|row| (half(row, 0), half(row, 4)))
    }
}
