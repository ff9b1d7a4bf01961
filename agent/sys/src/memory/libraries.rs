//! Libraries that were opened at run time.

use std::{fs, io, ops::Range, ptr};

use super::{addresses, unneeded::drop_whole_pages};

/// A part of a library's file that is mapped.
#[derive(Debug, PartialEq, Eq)]
struct Part<'a> {
    line: &'a str,
    pages: Range<usize>,
    /// Something has written to it: the loader, before it made it read-only.
    is_changed: bool,
    is_locked: bool,
}

/// Gives back what of libraries with these names has been read from their files. To open one, the loader goes through it and
/// through all that it needs, of which most is never called; what is called comes again, and stays then where memory is
/// locked. They must stay open meanwhile.
pub fn drop_libraries(names: &[&str]) -> io::Result<()> {
    let smaps = fs::read_to_string("/proc/self/smaps")?;
    let of_them = parts(&smaps).into_iter().filter(|part| part.can_be_dropped() && part.is_of(names));
    of_them.into_iter().try_for_each(|part| {
        drop_whole_pages(&part.pages)?;
        if part.is_locked { lock_touched(&part.pages) } else { Ok(()) }
    })
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

    fn is_of(&self, names: &[&str]) -> bool {
        let file = self.line.rsplit('/').next().unwrap_or_default();
        names.iter().any(|name| file.strip_prefix(name).is_some_and(|rest| rest.starts_with(".so")))
    }
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
7f30-7f40 r-xp 00000000 fe:00 9                          /usr/lib/x86_64-linux-gnu/libzstd.so.1
";

    #[test]
    fn what_nothing_has_written_to_can_be_dropped() {
        let parts = parts(SMAPS);
        let droppable: Vec<bool> = parts.iter().map(Part::can_be_dropped).collect();
        assert_eq!(droppable, [true, false, false, true, false], "the last has no figures");
        assert_eq!((parts[0].pages.clone(), parts[0].is_locked, parts[1].is_locked), (0x7f00..0x7f08, true, false));
    }

    #[test]
    fn a_library_is_known_by_its_whole_name() {
        let are_zstd: Vec<bool> = parts(SMAPS).iter().map(|part| part.is_of(&["liblz4", "libzstd"])).collect();
        assert_eq!(are_zstd, [true, true, true, false, true]);
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
