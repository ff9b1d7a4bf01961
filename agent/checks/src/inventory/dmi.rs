//! Memory modules by the firmware's tables: structures of type 17 (SMBIOS Reference Specification, DSP0134, 6.1 and 7.18).
//! The kernel shows the tables to root, where it found any (Documentation/ABI/testing/sysfs-firmware-dmi-tables).

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use nodewell_model::inventory::Component;

use super::word;

/// The tables of a large server are some 30 KiB; the specification's 32-bit length is no limit.
const LIMIT_BYTES: u64 = 1 << 20;
const FIRMWARE: u8 = 0;
const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;
/// ROM, flash and the EPROMs (7.18.2): the firmware's own memory. 1Fh is memory of pmem that is no RAM.
const NO_RAM: [u8; 6] = [0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x1f];

/// The tables, where the kernel shows any.
pub(crate) fn table(sys: &Path) -> Option<Vec<u8>> {
    let mut table = Vec::new();
    let file = File::open(sys.join("firmware/dmi/tables/DMI")).ok()?;
    file.take(LIMIT_BYTES).read_to_end(&mut table).ok()?;
    Some(table)
}

/// Whether they describe a virtual machine: bit 4 of the second extension byte (7.1.2.2). On ARM no flag of the CPU does.
pub(super) fn is_virtual(table: &[u8]) -> bool {
    let mut rest = table;
    while let Some(Some(structure)) = Structure::first(rest) {
        match structure.kind() {
            FIRMWARE => return structure.byte(0x13) & 0x10 != 0,
            END_OF_TABLE => return false,
            _ => rest = structure.rest,
        }
    }
    false
}

/// The modules that are plugged in, of a table that is whole and describes memory at all.
pub(crate) fn modules(table: &[u8]) -> Option<Vec<Component>> {
    let (mut rest, mut slots) = (table, Vec::new());
    while let Some(structure) = Structure::first(rest)? {
        rest = structure.rest;
        if structure.kind() == END_OF_TABLE {
            break;
        }
        if structure.kind() == MEMORY_DEVICE {
            slots.push(Slot::of(&structure));
        }
    }
    // A table without a slot describes no memory: nothing is known of it.
    (!slots.is_empty()).then(|| plugged_in(slots))
}

/// One structure: its formatted part, and its strings.
struct Structure<'t> {
    formatted: &'t [u8],
    strings: Vec<&'t [u8]>,
    rest: &'t [u8],
}

impl<'t> Structure<'t> {
    /// The one that `table` begins with: `None` if it is not whole, `Some(None)` at the end.
    fn first(table: &'t [u8]) -> Option<Option<Self>> {
        if table.is_empty() {
            return Some(None);
        }
        let length = usize::from(*table.get(1)?);
        // Type, length and handle.
        let (formatted, mut rest) = table.split_at_checked(length).filter(|_| length >= 4)?;
        let mut strings = Vec::new();
        loop {
            let end = rest.iter().position(|byte| *byte == 0)?;
            let (string, after) = rest.split_at_checked(end)?;
            rest = after.get(1..)?;
            if !string.is_empty() {
                strings.push(string);
                continue;
            }
            // A structure without strings ends with two zeros all the same.
            let rest = if strings.is_empty() { rest.strip_prefix(b"\0")? } else { rest };
            return Some(Some(Self { formatted, strings, rest }));
        }
    }

    fn kind(&self) -> u8 {
        self.byte(0)
    }

    /// What an older version of the specification does not have is 0.
    fn byte(&self, at: usize) -> u8 {
        self.formatted.get(at).copied().unwrap_or_default()
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|n| self.byte(at + n))
    }

    /// The string that the byte at `at` names; they count from 1, and 0 is none.
    fn string(&self, at: usize) -> String {
        let number = usize::from(self.byte(at)).checked_sub(1);
        let string = number.and_then(|number| self.strings.get(number)).copied().unwrap_or_default();
        word::clean(&String::from_utf8_lossy(string))
    }

    /// Of a memory device, in MiB; 0 where no module is plugged in, or its size is unknown.
    fn mebibytes(&self) -> u64 {
        match u16::from_le_bytes(self.bytes(0x0c)) {
            0 | 0xffff => 0,
            // Larger modules have a field of their own.
            0x7fff => u64::from(u32::from_le_bytes(self.bytes(0x1c)) & 0x7fff_ffff),
            kibibytes if kibibytes & 0x8000 != 0 => u64::from(kibibytes & 0x7fff) / 1024,
            mebibytes => u64::from(mebibytes),
        }
    }
}

/// One slot, with a module in it or not.
struct Slot {
    bank: String,
    module: Component,
    is_ram: bool,
}

impl Slot {
    fn of(structure: &Structure<'_>) -> Self {
        // What a placeholder stands for in one boot may be there in the next.
        let [maker, part, serial] = [0x17, 0x1a, 0x18].map(|at| word::identity(&structure.string(at)));
        let module = Component {
            serial,
            slot: structure.string(0x10),
            model: word::clean(&format!("{maker} {part}")),
            amount: structure.mebibytes(),
            ..Component::default()
        };
        Self { bank: structure.string(0x11), module, is_ram: !NO_RAM.contains(&structure.byte(0x12)) }
    }

    /// Some boards number the modules of each channel from the start: then the channel belongs to the name.
    fn named(self, counts: &BTreeMap<String, usize>) -> Component {
        let is_ambiguous = counts.get(&self.module.slot).is_some_and(|count| *count > 1);
        let slot = match is_ambiguous {
            true => word::clean(&format!("{} {}", self.bank, self.module.slot)),
            false => self.module.slot,
        };
        Component { slot, ..self.module }
    }
}

/// Whether a slot is filled does not change what it is called.
fn plugged_in(slots: Vec<Slot>) -> Vec<Component> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    slots.iter().for_each(|slot| *counts.entry(slot.module.slot.clone()).or_default() += 1);
    let filled = slots.into_iter().filter(|slot| slot.is_ram && slot.module.amount > 0);
    filled.map(|slot| slot.named(&counts)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A memory device as version 3.2 of the specification has it.
    pub(crate) fn module(locator: &str, mebibytes: u16, serial: &str) -> Vec<u8> {
        let mut structure = vec![0; 0x28];
        (structure[0], structure[1], structure[0x12]) = (MEMORY_DEVICE, 0x28, 0x1a);
        structure[0x0c..0x0e].copy_from_slice(&mebibytes.to_le_bytes());
        (structure[0x10], structure[0x11], structure[0x17], structure[0x18], structure[0x1a]) = (1, 2, 3, 4, 5);
        for string in [locator, "BANK 0", "Samsung", serial, "M393A"] {
            structure.extend_from_slice(string.as_bytes());
            structure.push(0);
        }
        structure.push(0);
        structure
    }

    pub(crate) fn table(structures: &[Vec<u8>]) -> Vec<u8> {
        [structures.concat(), vec![END_OF_TABLE, 4, 0, 0, 0, 0]].concat()
    }

    #[test]
    fn modules_are_read_and_empty_slots_are_none() {
        let table = table(&[vec![1, 4, 0, 0, 0, 0], module("A1", 16384, "77AB"), module("A2", 0, "NO DIMM")]);
        let found = modules(&table).unwrap();
        let [only] = &found[..] else { panic!() };
        assert_eq!((only.slot.as_str(), only.serial.as_str(), only.amount), ("A1", "77AB", 16384));
        assert_eq!(only.model, "Samsung M393A");
    }

    #[test]
    fn sizes_come_in_three_forms() {
        for (size, extended, expected) in [
            (0x7fff_u16, 65536_u32, vec![65536]),
            (0x8000 | 512, 0, vec![]),
            (0x8000 | 2048, 0, vec![2]),
            (0xffff, 0, vec![]),
        ] {
            let mut one = module("A1", size, "77AB");
            one[0x1c..0x20].copy_from_slice(&extended.to_le_bytes());
            let found: Vec<u64> = modules(&table(&[one])).unwrap().iter().map(|module| module.amount).collect();
            assert_eq!(found, expected, "{size:#x}");
        }
    }

    #[test]
    fn the_firmwares_own_memory_is_no_module_and_ambiguous_slots_have_their_bank() {
        let mut rom = module("ROM", 16, "1A");
        rom[0x12] = 0x09;
        let table = table(&[rom, module("DIMM 0", 8, "1A"), module("DIMM 0", 0, "NO DIMM")]);
        let found = modules(&table).unwrap();
        assert_eq!(found.iter().map(|one| one.slot.as_str()).collect::<Vec<_>>(), ["BANK 0 DIMM 0"]);
    }

    #[test]
    fn a_table_that_is_cut_off_or_knows_no_memory_says_nothing() {
        let whole = table(&[module("A1", 16384, "77AB"), module("A2", 16384, "77AC")]);
        assert_eq!(modules(&whole).unwrap().len(), 2);
        // But for the end of the table, which some boards leave out.
        for length in (1..whole.len()).filter(|length| *length != whole.len() - 6) {
            let found = modules(&whole[..length]).unwrap_or_default();
            assert!(found.is_empty() || found.len() == 1 && length == module("A1", 1, "77AB").len(), "{length}");
        }
        assert_eq!((modules(&[]), modules(&table(&[])), modules(&[0; 40])), (None, None, None));
    }

    #[test]
    fn a_virtual_machines_firmware_says_so() {
        let firmware = |characteristics: u8| {
            let mut structure = vec![0_u8; 0x18 + 2];
            (structure[1], structure[0x13]) = (0x18, characteristics);
            structure
        };
        assert!(is_virtual(&table(&[vec![1, 4, 0, 0, 0, 0], firmware(0x1c)])));
        assert!(!is_virtual(&table(&[firmware(0x0c)])));
        assert!(!is_virtual(&table(&[module("A1", 16384, "77AB")])) && !is_virtual(&[0; 40]));
    }

    proptest! {
        #[test]
        fn no_table_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (modules(&bytes), is_virtual(&bytes));
        }
    }
}
