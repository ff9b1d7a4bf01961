//! Pages of the program that nothing reads again, dropped also where they are locked.

use std::{io, ops::Range, ptr};

use super::{each_line, readable_file};

/// Texts that lie so near each other have nothing between them but padding.
const PADDING_BYTES: usize = 16;

/// Drops the pages of constants of the program, which a start or a reload has read. Who reads one all the same has it read
/// from the program's file again. A text that is no constant stays.
pub fn drop_texts(texts: impl IntoIterator<Item = &'static str>) -> io::Result<()> {
    let mut constants = Vec::new();
    each_line(|line| constants.extend(readable_file(line).filter(|_| is_read_only(line))))?;
    let is_constant =
        |text: &Range<usize>| constants.iter().any(|pages| pages.start <= text.start && text.end <= pages.end);
    joined(texts.into_iter().map(addresses_of).filter(is_constant).collect()).iter().try_for_each(drop_whole_pages)
}

/// Drops the whole pages in `bytes`: what shares a page with others is needed. They are of a file, and nothing has written
/// to them, or what was written is lost.
pub(super) fn drop_whole_pages(bytes: &Range<usize>) -> io::Result<()> {
    let pages = whole_pages(bytes)?;
    if pages.is_empty() {
        return Ok(());
    }
    let start = ptr::with_exposed_provenance_mut::<libc::c_void>(pages.start);
    // SAFETY: changes no memory's content.
    let unlocked = unsafe { libc::munlock(start, pages.len()) };
    // SAFETY: pages of a file that nothing has written to: what reads them all the same finds them as they were.
    if unlocked == 0 && unsafe { libc::madvise(start, pages.len(), libc::MADV_DONTNEED) } == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

pub(super) fn whole_pages(bytes: &Range<usize>) -> io::Result<Range<usize>> {
    let page = page_size()?;
    Ok(bytes.start.next_multiple_of(page)..bytes.end - bytes.end % page)
}

pub(super) fn page_size() -> io::Result<usize> {
    // SAFETY: only reads a number of the kernel's.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)
}

/// What could be written to may have been.
fn is_read_only(line: &str) -> bool {
    line.split_ascii_whitespace().nth(1) == Some("r--p")
}

fn addresses_of(text: &'static str) -> Range<usize> {
    let start = text.as_ptr().expose_provenance();
    start..start + text.len()
}

/// Those that lie one behind the other as one: less of them shares a page with something else.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end + PADDING_BYTES => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{
        PAGE, load_program,
        tests::{alone, resident_at},
    };

    static TEXT: &str = concat!(
        include_str!("../memory.rs"),
        include_str!("../journal.rs"),
        include_str!("../ipmi.rs"),
        include_str!("../megaraid.rs"),
    );

    #[test]
    fn a_constant_is_dropped_and_still_there() {
        alone("memory::unneeded::tests::a_constant_is_dropped_and_still_there", || {
            load_program().unwrap();
            let (start, copy) = (addresses_of(TEXT).start, TEXT.to_owned());
            let before = resident_at(start);
            drop_texts([TEXT]).unwrap();
            let gone = before - resident_at(start);
            assert!(gone + 2 * PAGE >= TEXT.len() && gone <= TEXT.len(), "{gone} of {}", TEXT.len());
            assert_eq!(TEXT, copy);
        });
    }

    #[test]
    fn a_text_that_is_no_constant_stays() {
        let text: &'static str = Box::leak("nodewell ".repeat(PAGE).into_boxed_str());
        drop_texts([text]).unwrap();
        assert!(text.as_bytes().iter().all(|byte| *byte != 0));
    }

    #[test]
    fn what_lies_together_is_one() {
        assert_eq!(joined(vec![100..200, 0..90, 216..300, 215..220, 400..401]), [0..300, 400..401]);
        assert_eq!(joined(vec![0..10, 26..30]), [0..10, 26..30]);
        assert_eq!(joined(Vec::new()), Vec::<Range<usize>>::new());
    }
}
