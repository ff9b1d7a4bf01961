//! The table of relocations: read once, and then in the way.

use std::{io, ops::Range, ptr};

use super::unneeded::drop_whole_pages;

/// Drops the pages of the program's table of relocations, which the dynamic linker read before `main` and no one reads
/// again, also where they are locked. Libraries keep theirs.
pub fn drop_relocations() -> io::Result<()> {
    relocations().map_or(Ok(()), |table| drop_whole_pages(&table))
}

/// Where the program's relocations with addends are, by its dynamic section.
fn relocations() -> Option<Range<usize>> {
    let mut found = None;
    // SAFETY: the callback is called before this returns, with the pointer that it expects.
    unsafe { libc::dl_iterate_phdr(Some(of_program), (&raw mut found).cast()) };
    found
}

/// An entry of a dynamic section (`Elf64_Dyn`; elf.h).
#[repr(C)]
struct Dynamic {
    tag: usize,
    value: usize,
}

/// Called for the program first, and ends the walk there.
unsafe extern "C" fn of_program(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    found: *mut libc::c_void,
) -> libc::c_int {
    const DT_NULL: usize = 0;
    const DT_RELA: usize = 7;
    const DT_RELASZ: usize = 8;
    // SAFETY: the dynamic linker's description of the program, whose segments stay mapped.
    let (base, segments) = unsafe {
        let info = &*info;
        (info.dlpi_addr as usize, std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
    };
    let Some(dynamic) = segments.iter().find(|segment| segment.p_type == libc::PT_DYNAMIC) else { return 1 };
    let mut entry = ptr::with_exposed_provenance::<Dynamic>(base + dynamic.p_vaddr as usize);
    let (mut start, mut length) = (None, None);
    loop {
        // SAFETY: the section's entries end with one of DT_NULL.
        let Dynamic { tag, value } = unsafe { ptr::read(entry) };
        match tag {
            DT_NULL => break,
            // Some linkers make an address of the offset in place.
            DT_RELA => start = Some(if value < base { base + value } else { value }),
            DT_RELASZ => length = Some(value),
            _ => {}
        }
        entry = entry.wrapping_add(1);
    }
    // SAFETY: what `relocations` handed over.
    unsafe { *found.cast::<Option<Range<usize>>>() = start.zip(length).map(|(start, length)| start..start + length) };
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{
        PAGE, load_program,
        tests::{alone, resident_at},
    };

    #[test]
    fn the_relocations_are_gone_and_the_program_goes_on() {
        alone("memory::relocations::tests::the_relocations_are_gone_and_the_program_goes_on", || {
            let table = relocations().unwrap();
            load_program().unwrap();
            let before = resident_at(table.start);
            drop_relocations().unwrap();
            let (gone, whole) = (before - resident_at(table.start), table.len() - table.len() % PAGE);
            assert!(gone + 2 * PAGE >= whole && gone <= table.len(), "{gone} of {whole}");
            std::hint::black_box(&format!("{}", 1.5f64).parse::<f64>().unwrap());
        });
    }
}
