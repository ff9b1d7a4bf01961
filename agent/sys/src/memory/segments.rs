//! Where the parts of the program's file, and of libraries', are in memory.

use std::{ffi::CStr, ops::Range, slice};

/// A part of a file: what the program may do with it, and where it is.
struct Segment {
    may: u32,
    addresses: Range<usize>,
}

/// Whose parts are asked for.
#[derive(Clone, Copy)]
enum Of<'a> {
    Program,
    /// Of those whose path this takes.
    Libraries(&'a dyn Fn(&str) -> bool),
}

/// What is asked for, and what of it was found so far.
struct Walk<'a> {
    of: Of<'a>,
    found: Vec<Segment>,
}

/// Those that hold constants: nothing may ever write to them, not even the dynamic linker before `main`.
pub(super) fn constants() -> Vec<Range<usize>> {
    segments(Of::Program, |may| may == libc::PF_R)
}

/// The same and code of the libraries whose path `are_wanted` takes.
pub(super) fn constants_and_code_of(are_wanted: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    segments(Of::Libraries(are_wanted), |may| may & libc::PF_W == 0)
}

fn segments(of: Of<'_>, are_wanted: fn(u32) -> bool) -> Vec<Range<usize>> {
    let mut walk = Walk { of, found: Vec::new() };
    // SAFETY: the callback is called before this returns, with the pointer that it expects.
    unsafe { libc::dl_iterate_phdr(Some(of_object), (&raw mut walk).cast()) };
    walk.found.into_iter().filter(|segment| are_wanted(segment.may)).map(|segment| segment.addresses).collect()
}

/// Called for the program first, and then for each library; ends the walk where no more is wanted.
unsafe extern "C" fn of_object(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    walk: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: what `segments` handed over.
    let Walk { of, found } = unsafe { &mut *walk.cast::<Walk<'_>>() };
    // SAFETY: the dynamic linker's description of one object, which stays as it is during the call.
    let info = unsafe { &*info };
    match *of {
        Of::Program => found.extend(loaded(info)),
        Of::Libraries(are_wanted) if path(info).is_some_and(are_wanted) => found.extend(loaded(info)),
        Of::Libraries(_) => {}
    }
    libc::c_int::from(matches!(*of, Of::Program))
}

/// The program itself has an empty one.
fn path(info: &libc::dl_phdr_info) -> Option<&str> {
    if info.dlpi_name.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker's text, which ends with a zero and lives as long as its description.
    unsafe { CStr::from_ptr(info.dlpi_name) }.to_str().ok()
}

fn loaded(info: &libc::dl_phdr_info) -> impl Iterator<Item = Segment> {
    let base = info.dlpi_addr as usize;
    // SAFETY: the object's own table of them, which is mapped as long as it is.
    let segments = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).map(move |segment| {
        let start = base + segment.p_vaddr as usize;
        Segment { may: segment.p_flags, addresses: start..start + segment.p_memsz as usize }
    })
}
