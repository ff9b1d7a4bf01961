//! Where the parts of the program's file are in memory.

use std::{ops::Range, slice};

/// Those that hold constants: nothing may ever write to them, not even the dynamic linker before `main`.
pub(super) fn constants() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // SAFETY: the callback is called before this returns, with the pointer that it expects.
    unsafe { libc::dl_iterate_phdr(Some(of_program), (&raw mut found).cast()) };
    found
}

/// Called for the program first, and ends the walk there.
unsafe extern "C" fn of_program(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    found: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the dynamic linker's description of the program, whose segments stay mapped.
    let (base, segments) = unsafe {
        let info = &*info;
        (info.dlpi_addr as usize, slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
    };
    let constants = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD && segment.p_flags == libc::PF_R);
    let addresses = constants.map(|segment| {
        let start = base + segment.p_vaddr as usize;
        start..start + segment.p_memsz as usize
    });
    // SAFETY: what `constants` handed over.
    unsafe { &mut *found.cast::<Vec<Range<usize>>>() }.extend(addresses);
    1
}
