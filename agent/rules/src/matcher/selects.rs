//! Which patterns each window of a scan selects.

use super::Scan;

/// For each window, by its index, the patterns that it selects: one list in one piece, so that a window in a line costs
/// one look.
pub(crate) struct Selects {
    /// Where the patterns of each window begin, and behind the last where they end.
    begins: Vec<u32>,
    patterns: Vec<u32>,
}

/// The windows that a scan has seen in a line.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) windows: &'a [u32],
    /// For that scan.
    pub(crate) selects: &'a Selects,
}

impl Selects {
    /// One list for each window, in their order.
    pub(super) fn new<'a>(lists: impl IntoIterator<Item = &'a [u32]>) -> Self {
        let mut selects = Self { begins: vec![0], patterns: Vec::new() };
        for list in lists {
            selects.patterns.extend_from_slice(list);
            let end = u32::try_from(selects.patterns.len()).expect("rule files are smaller than 4 GiB");
            selects.begins.push(end);
        }
        selects
    }

    /// Those of `scan`, for the windows of `joined`, which has others, too.
    pub(super) fn moved(&self, scan: &Scan, joined: &Scan) -> Self {
        let lists = joined.windows().iter().map(|window| match scan.windows().binary_search(window) {
            Ok(index) => self.list(index),
            Err(_) => &[],
        });
        Self::new(lists)
    }

    /// The patterns that `window` selects.
    pub(super) fn of(&self, window: u32) -> &[u32] {
        self.list(window as usize)
    }

    fn list(&self, window: usize) -> &[u32] {
        &self.patterns[self.begins[window] as usize..self.begins[window + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::Window;

    fn scan(windows: &[&str]) -> Scan {
        Scan::of(windows.iter().map(|window| Window::text(window.as_bytes())).collect())
    }

    #[test]
    fn each_window_has_its_patterns_in_a_joined_scan_as_well() {
        let own = scan(&["link", "nvme"]);
        let selects = Selects::new([&[3, 4][..], &[][..]]);
        assert_eq!((selects.of(0), selects.of(1)), (&[3, 4][..], &[][..]));
        let joined = Scan::joined([&own, &scan(&["disk", "raid"])], &[b"zero"]);
        let moved = selects.moved(&own, &joined);
        let of = |text: &str| {
            let index = joined.windows().iter().position(|window| **window == *text.as_bytes());
            moved.of(u32::try_from(index.unwrap()).unwrap()).to_vec()
        };
        assert_eq!(["disk", "link", "nvme", "raid", "zero"].map(of), [vec![], vec![3, 4], vec![], vec![], vec![]]);
    }
}
