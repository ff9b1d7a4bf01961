//! How many pages of the program's file come into memory when one is touched.

use std::{io, ops::Range, ptr};

use super::{
    segments::constants_and_code,
    unneeded::{page_size, whole_pages},
};

/// From now on a page of the program that is touched comes into memory alone. The kernel maps the pages around it as well
/// (64 KiB, `fault_around_bytes`), which costs nothing as long as it may take them back, and of locked memory it may not.
/// It does not go past the end of a mapping. So each page becomes one of its own, by a mark on every second page that
/// only dumps of core look at. The kernel needs some 200 bytes for each, until [`fault_around`]; if it has not so many,
/// nothing is changed.
pub fn fault_singly() -> io::Result<()> {
    mark_every_second_page().inspect_err(|_| drop(fault_around()))
}

fn mark_every_second_page() -> io::Result<()> {
    let page = page_size()?;
    for pages in constants_and_code() {
        let pages = whole_pages(&pages)?;
        pages.step_by(2 * page).try_for_each(|address| advise(&(address..address + page), libc::MADV_DONTDUMP))?;
    }
    Ok(())
}

/// Takes back what [`fault_singly`] did, and leaves the pages that came as they are: those around them stay where they
/// were.
pub fn fault_around() -> io::Result<()> {
    constants_and_code().iter().try_for_each(|pages| advise(&whole_pages(pages)?, libc::MADV_DODUMP))
}

fn advise(pages: &Range<usize>, advice: libc::c_int) -> io::Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let start = ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: whether pages are in a dump changes nothing of what is in them.
    if unsafe { libc::madvise(start, pages.len(), advice) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::FileExt,
    };

    use super::*;
    use crate::memory::{drop_constants, load_program, tests::alone};

    static TEXT: &str = concat!(include_str!("../memory.rs"), include_str!("../journal.rs"), include_str!("heap.rs"));

    fn mappings() -> usize {
        fs::read_to_string("/proc/self/maps").unwrap().lines().count()
    }

    /// Whether the page with `address` is mapped, by its bit in `/proc/self/pagemap`.
    fn is_mapped(address: usize) -> bool {
        let mut entry = [0; 8];
        let at = address / page_size().unwrap() * entry.len();
        File::open("/proc/self/pagemap").unwrap().read_exact_at(&mut entry, at as u64).unwrap();
        u64::from_ne_bytes(entry) >> 63 == 1
    }

    #[test]
    fn a_page_that_is_touched_comes_alone() {
        alone("memory::faults::tests::a_page_that_is_touched_comes_alone", || {
            let page = page_size().unwrap();
            let start = TEXT.as_ptr().expose_provenance();
            let pages = whole_pages(&(start..start + TEXT.len())).unwrap();
            assert!(pages.len() >= 3 * page, "{pages:?}");
            let touched = pages.start + page;
            load_program().unwrap();
            let before = mappings();
            fault_singly().unwrap();
            assert!(mappings() > 2 * before, "{}, {before} before", mappings());
            drop_constants().unwrap();
            // SAFETY: a byte of `TEXT`.
            let byte = unsafe { ptr::read_volatile(ptr::with_exposed_provenance::<u8>(touched)) };
            assert_eq!(byte, TEXT.as_bytes()[touched - start]);
            // As long as pages come singly: then what looks at the text's neighbours brings none of them by itself.
            let around = [touched - page, touched, touched + page].map(is_mapped);
            assert_eq!(around, [false, true, false]);
            fault_around().unwrap();
            // Memory may have come or gone meanwhile.
            assert!(mappings() < before + 8, "{}, {before} before", mappings());
            assert!(is_mapped(touched), "what has come stays");
        });
    }
}
