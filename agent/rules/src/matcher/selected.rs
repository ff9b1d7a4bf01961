//! The patterns selected for one record, in the order of the rules.

/// A set of small numbers that is emptied and filled for every record.
#[derive(Default)]
pub(crate) struct Selected {
    words: Vec<u64>,
}

impl Selected {
    /// Empties the set and makes room for numbers below `len`.
    pub(crate) fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
    }

    pub(crate) fn add(&mut self, id: u32) {
        self.words[id as usize / 64] |= 1 << (id % 64);
    }

    pub(crate) fn add_all(&mut self, ids: &[u32]) {
        ids.iter().for_each(|id| self.add(*id));
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.words[id as usize / 64] & (1 << (id % 64)) != 0
    }

    /// Takes out those of which `stays` is false; whether any is left.
    pub(crate) fn retain(&mut self, stays: impl Fn(u32) -> bool) -> bool {
        let mut any = 0;
        for (index, word) in (0_u32..).zip(&mut self.words) {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !stays(index * 64 + bit) {
                    *word &= !(1 << bit);
                }
            }
            any |= *word;
        }
        any != 0
    }

    /// The numbers, smallest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.words).flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_in_order() {
        let mut selected = Selected::default();
        selected.reset(200);
        [199, 0, 64, 63, 0].into_iter().for_each(|id| selected.add(id));
        assert_eq!(selected.iter().collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert!(selected.retain(|id| id != 64 && id != 0));
        assert_eq!(selected.iter().collect::<Vec<_>>(), [63, 199]);
        assert!(!selected.retain(|_| false));
        selected.add_all(&[5, 7]);
        selected.reset(10);
        assert_eq!(selected.iter().count(), 0);
    }
}
