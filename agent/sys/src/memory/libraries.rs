//! Libraries that were opened at run time.

use std::{fs, io, ops::Range, ptr};

use super::{
    addresses,
    segments::constants_and_code_of,
    unneeded::{drop_whole_pages, page_size},
};

/// What is mapped in one piece.
#[derive(Debug, PartialEq, Eq)]
struct Part<'a> {
    line: &'a str,
    pages: Range<usize>,
    /// Something has written to it, and the pages are in memory or in swap.
    is_changed: bool,
    is_locked: bool,
}

/// Gives back what of libraries with these names has been read from their files. To open one, the loader goes through it
/// and through all that it needs, of which most is never called; what is called comes again, and stays then where memory
/// is locked. They must stay open meanwhile.
///
/// Another thread may open one at the same time: what the loader has yet to write to looks as if nothing ever would. So
/// only what the file itself has as constants or code goes.
pub fn drop_libraries(names: &[&str]) -> io::Result<()> {
    let smaps = fs::read_to_string("/proc/self/smaps")?;
    let page = page_size()?;
    let unwritten: Vec<Range<usize>> = constants_and_code_of(&|path| is_of(path, names))
        .into_iter()
        .map(|segment| segment.start - segment.start % page..segment.end.next_multiple_of(page))
        .collect();
    let all = parts(&smaps);
    all.iter().filter(|part| part.can_be_dropped() && part.is_within(&unwritten)).try_for_each(Part::drop_pages)
}

fn lock_touched(pages: &Range<usize>) -> io::Result<()> {
    let start = ptr::with_exposed_provenance(pages.start);
    // SAFETY: changes no memory's content.
    let answer = unsafe { libc::mlock2(start, pages.len(), libc::MLOCK_ONFAULT) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Each begins with its line of `/proc/self/maps`; lines with its figures follow.
fn parts(smaps: &str) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for line in smaps.lines() {
        if let Some(pages) = addresses(line) {
            // Until its own figures say so.
            parts.push(Part { line, pages, is_changed: true, is_locked: false });
        } else if let (Some(part), Some((key, value))) = (parts.last_mut(), line.split_once(':')) {
            match key {
                "Anonymous" => part.is_changed = value.trim() != "0 kB",
                "Swap" => part.is_changed |= value.trim() != "0 kB",
                "VmFlags" => part.is_locked = value.split_ascii_whitespace().any(|flag| flag == "lo"),
                _ => {}
            }
        }
    }
    parts
}

impl Part<'_> {
    /// Whether its pages come back from the file as they are.
    fn can_be_dropped(&self) -> bool {
        let may = self.line.split_ascii_whitespace().nth(1).unwrap_or_default();
        !self.is_changed && may.starts_with('r') && !may.contains('w') && may.ends_with('p')
    }

    fn is_within(&self, any: &[Range<usize>]) -> bool {
        any.iter().any(|one| one.start <= self.pages.start && self.pages.end <= one.end)
    }

    fn drop_pages(&self) -> io::Result<()> {
        let dropped = drop_whole_pages(&self.pages);
        // Also where the kernel would not drop them.
        if self.is_locked { lock_touched(&self.pages).and(dropped) } else { dropped }
    }
}

/// `path`: of a library that is open.
fn is_of(path: &str, names: &[&str]) -> bool {
    let file = path.rsplit('/').next().unwrap_or_default();
    names.iter().any(|name| file.strip_prefix(name).is_some_and(|rest| rest.starts_with(".so")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{
        load_program,
        tests::{alone, resident_at},
    };

    const SMAPS: &str = "\
7f00-7f08 r--p 00000000 fe:00 7                          /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4
Rss:                   8 kB
Anonymous:             0 kB
VmFlags: rd mr mw me lo sd
7f08-7f10 r--p 00008000 fe:00 7                          /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4
Anonymous:             4 kB
VmFlags: rd mr mw me sd
7f10-7f20 rw-p 00010000 fe:00 7                          /usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4
Anonymous:             0 kB
VmFlags: rd wr mr mw me ac sd
7f20-7f30 r-xp 00000000 fe:00 8                          /usr/lib/x86_64-linux-gnu/libzstd-fast.so.1
Anonymous:             0 kB
VmFlags: rd ex mr mw me sd
7f30-7f40 r--p 00012000 fe:00 8                          /usr/lib/x86_64-linux-gnu/libzstd-fast.so.1
Anonymous:             0 kB
Swap:                  4 kB
VmFlags: rd mr mw me sd
7f40-7f50 r-xp 00000000 fe:00 9                          /usr/lib/x86_64-linux-gnu/libzstd.so.1
";

    #[test]
    fn what_nothing_has_written_to_can_be_dropped() {
        let parts = parts(SMAPS);
        let droppable: Vec<bool> = parts.iter().map(Part::can_be_dropped).collect();
        assert_eq!(droppable, [true, false, false, true, false, false], "the last has no figures");
        assert_eq!((parts[0].pages.clone(), parts[0].is_locked, parts[1].is_locked), (0x7f00..0x7f08, true, false));
    }

    #[test]
    fn a_library_is_known_by_its_whole_name() {
        let is_one = |path: &str| is_of(path, &["liblz4", "libzstd"]);
        assert!(is_one("/usr/lib/x86_64-linux-gnu/libzstd.so.1.5.4") && is_one("liblz4.so.1"));
        assert!(!is_one("/usr/lib/libzstd-fast.so.1") && !is_one("/opt/libzstd.so.1/libother.so") && !is_one(""));
    }

    /// The loader has written to some of it, and made that read-only afterwards.
    #[test]
    fn of_a_library_only_what_its_file_has_as_constants_or_code_can_go() {
        let unwritten = constants_and_code_of(&|path| is_of(path, &["libc"]));
        let has = |address: usize| unwritten.iter().any(|segment| segment.contains(&address));
        assert!(has((libc::mlock2 as *const ()).expose_provenance()), "its code: {unwritten:x?}");
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let changed: Vec<Part<'_>> =
            parts(&smaps).into_iter().filter(|part| part.line.contains("/libc.so") && part.is_changed).collect();
        assert!(!changed.is_empty(), "{smaps}");
        assert!(changed.iter().all(|part| !has(part.pages.start)), "{changed:?}, {unwritten:x?}");
        assert!(constants_and_code_of(&|path| is_of(path, &["libnone"])).is_empty());
    }

    #[test]
    fn a_library_that_was_dropped_works_as_before() {
        alone("memory::libraries::tests::a_library_that_was_dropped_works_as_before", || {
            let inside = (libc::mlock2 as *const ()).expose_provenance();
            load_program().unwrap();
            let before = resident_at(inside);
            drop_libraries(&["libc"]).unwrap();
            assert!(resident_at(inside) < before, "{} of {before}", resident_at(inside));
        });
    }
}
