//! Where the parts of the program's file are in memory.

use std::{ops::Range, slice};

/// A part of the file: what the program may do with it, and where it is.
struct Segment {
    may: u32,
    addresses: Range<usize>,
}

/// Those that hold constants: nothing may ever write to them, not even the dynamic linker before `main`.
pub(super) fn constants() -> Vec<Range<usize>> {
    segments(|may| may == libc::PF_R)
}

/// The same and code.
pub(super) fn constants_and_code() -> Vec<Range<usize>> {
    segments(|may| may & libc::PF_W == 0)
}

fn segments(are_wanted: fn(u32) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Segment> = Vec::new();
    // SAFETY: the callback is called before this returns, with the pointer that it expects.
    unsafe { libc::dl_iterate_phdr(Some(of_program), (&raw mut found).cast()) };
    found.into_iter().filter(|segment| are_wanted(segment.may)).map(|segment| segment.addresses).collect()
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
    let loaded = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).map(|segment| {
        let start = base + segment.p_vaddr as usize;
        Segment { may: segment.p_flags, addresses: start..start + segment.p_memsz as usize }
    });
    // SAFETY: what `segments` handed over.
    unsafe { &mut *found.cast::<Vec<Segment>>() }.extend(loaded);
    1
}
