//! What QEMU's SATA disks report of themselves: a table in QEMU's own program, the same for all of them, which a case
//! alters in the running QEMU. QEMU itself has no command for it.

use std::{
    fs::{self, File},
    ops::Range,
    os::unix::fs::FileExt,
};

use crate::guest::Guest;

/// One row of the table: an `int` for each of the attribute's twelve bytes as the disk gives them (number, two of flags,
/// value, worst value, six of raw value) and for its threshold (hw/ide/core.c).
const ROW: usize = 12;
const VALUE: usize = 3;
const WORST: usize = 4;
/// The first row, by which the table is found: raw read error rate, a pre-failure attribute that is collected all the time,
/// at 100 with a threshold of 6.
const READ_ERRORS: [i32; ROW] = [1, 3, 0, 100, 100, 0, 0, 0, 0, 0, 0, 6];

impl Guest {
    /// From now on the read error rate of all SATA disks is at this value; it began at 100, and the threshold is 6.
    ///
    /// # Panics
    /// If QEMU's table is not found, or cannot be altered.
    pub fn set_read_errors(&self, value: u8) {
        let memory = File::options().read(true).write(true).open(format!("/proc/{}/mem", self.qemu_pid())).unwrap();
        let place = self.smart_table(&memory);
        for column in [VALUE, WORST] {
            let at = place + (column * size_of::<i32>()) as u64;
            memory.write_all_at(&i32::from(value).to_ne_bytes(), at).unwrap();
        }
    }

    /// Where the row of the read errors is, whatever value it has by now.
    fn smart_table(&self, memory: &File) -> u64 {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.qemu_pid())).unwrap();
        let ours = maps.lines().filter(|line| line.contains("/qemu-system-")).filter_map(mapping);
        let found: Vec<u64> = ours.flat_map(|mapping| rows(memory, &mapping)).collect();
        let [place] = found[..] else { panic!("QEMU's table of SMART attributes is there {} times", found.len()) };
        place
    }
}

/// The addresses of a line of `/proc/PID/maps`, if they can be read.
fn mapping(line: &str) -> Option<Range<u64>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    rest.starts_with('r').then_some(address(start)?..address(end)?)
}

fn rows(memory: &File, mapping: &Range<u64>) -> Vec<u64> {
    let mut bytes = vec![0; usize::try_from(mapping.end - mapping.start).unwrap()];
    memory.read_exact_at(&mut bytes, mapping.start).unwrap();
    let step = size_of::<i32>();
    let places = (0..bytes.len().saturating_sub(ROW * step)).step_by(step).filter(|at| is_row(&bytes[*at..]));
    places.map(|at| mapping.start + at as u64).collect()
}

fn is_row(bytes: &[u8]) -> bool {
    let words = bytes.chunks_exact(size_of::<i32>()).map(|word| i32::from_ne_bytes(word.try_into().unwrap()));
    let mut columns = words.zip(READ_ERRORS).enumerate();
    columns.all(|(column, (word, known))| word == known || matches!(column, VALUE | WORST))
}
