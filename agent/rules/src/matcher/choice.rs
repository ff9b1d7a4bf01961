//! Which windows are searched for. A pattern can be known by any of several sets of windows; those are taken that other
//! patterns ask for too, and that fit best beside them into the buckets of the searcher.

use std::collections::HashMap;

use super::{
    buckets::{self, BUCKETS, Bucket, Mask},
    literal::{Required, WINDOW_BYTES, Window},
    through::Through,
};

/// A searcher with more windows lets more through, but a second one is a second pass over everything: with the shipped
/// rules, which ask for more than 64, two passes took nearly twice as long as one.
const GROUP_WINDOWS: usize = 96;
/// How often every choice is made again in the light of all others.
const ROUNDS: usize = 3;
/// A line that is selected in vain costs as much as leaving the vector loop so many times.
const SELECTED: f64 = 3.0;
/// The buckets that a window is tried in: those that seem to fit best.
const TRIED: usize = 2;
/// As many patterns as one packed searcher takes.
pub(super) const PATTERNS_LIMIT: usize = 128;

/// The windows that were taken.
#[derive(Default)]
pub(super) struct Choice {
    pub(super) windows: Vec<Vec<u8>>,
    /// For each pattern its windows.
    pub(super) by_pattern: Vec<Vec<u32>>,
    /// For each searcher its windows in the order that puts them into their buckets; some more than once.
    pub(super) groups: Vec<Vec<u32>>,
}

/// Chooses for each of `patterns` one of its sets of windows.
pub(super) fn choose(patterns: &[Vec<Required>]) -> Choice {
    let mut chooser = Chooser::new(patterns);
    let (mut first, mut groups) = (0, Vec::new());
    while first < patterns.len() {
        let end = chooser.fill(first);
        for _ in 1..ROUNDS {
            (first..end).for_each(|pattern| chooser.choose_again(pattern));
        }
        groups.push(chooser.settle());
        first = end;
    }
    chooser.finish(groups)
}

struct Chooser<'a> {
    patterns: &'a [Vec<Required>],
    /// All windows of all sets.
    windows: Vec<&'a [u8]>,
    masks: Vec<Mask>,
    /// For each pattern and each of its sets the windows.
    sets: Vec<Vec<Vec<u32>>>,
    chosen: Vec<usize>,
    /// For each window how many patterns have chosen it.
    uses: Vec<u32>,
    /// The bucket of the current searcher.
    bucket_of: Vec<Option<usize>>,
    buckets: [Bucket; BUCKETS],
    placed: Vec<u32>,
    through: Box<Through>,
}

impl<'a> Chooser<'a> {
    fn new(patterns: &'a [Vec<Required>]) -> Self {
        let (mut windows, mut known) = (Vec::new(), HashMap::new());
        let mut number = |window: &'a Window| {
            *known.entry(&**window).or_insert_with(|| {
                windows.push(&**window);
                u32::try_from(windows.len() - 1).expect("rule files are smaller than 4 GiB")
            })
        };
        let mut numbers = |set: &'a Required| set.windows.iter().map(&mut number).collect();
        let sets = patterns.iter().map(|sets| sets.iter().map(&mut numbers).collect()).collect();
        Self {
            patterns,
            masks: windows.iter().map(|window| Mask::of(window)).collect(),
            sets,
            chosen: vec![0; patterns.len()],
            uses: vec![0; windows.len()],
            bucket_of: vec![None; windows.len()],
            windows,
            buckets: [Bucket::default(); BUCKETS],
            placed: Vec::new(),
            through: Through::new(),
        }
    }

    /// Chooses for the patterns from `first` on until the searcher has enough; answers where it ended.
    fn fill(&mut self, first: usize) -> usize {
        let mut pattern = first;
        while pattern < self.patterns.len() && self.placed.len() < GROUP_WINDOWS {
            self.take_cheapest(pattern);
            pattern += 1;
        }
        pattern
    }

    /// Chooses once more, now that others have chosen; what is not cheaper is left as it was.
    fn choose_again(&mut self, pattern: usize) {
        let (set, before) = (self.chosen[pattern], self.buckets);
        let let_gone = self.let_go(pattern);
        let cost = |buckets: &[Bucket; BUCKETS]| buckets.iter().map(Bucket::cost).sum::<f64>();
        let old = cost(&before) - cost(&self.buckets) + self.selected(pattern, set);
        match self.cheapest(pattern, old) {
            Some(cheaper) => self.take(pattern, cheaper),
            None => self.put_back(pattern, &let_gone, before),
        }
    }

    fn take_cheapest(&mut self, pattern: usize) {
        let set = self.cheapest(pattern, f64::INFINITY).unwrap_or(0);
        self.take(pattern, set);
    }

    /// The set that costs least, if it costs less than `least`.
    fn cheapest(&self, pattern: usize, mut least: f64) -> Option<usize> {
        let mut cheapest = None;
        for set in 0..self.sets[pattern].len() {
            let cost = self.cost(pattern, set, least);
            if cost < least {
                (cheapest, least) = (Some(set), cost);
            }
        }
        cheapest
    }

    /// What the lines cost that windows of the set select and no other pattern asks for.
    fn selected(&self, pattern: usize, set: usize) -> f64 {
        let ids = &self.sets[pattern][set];
        let new = ids.iter().filter(|id| self.uses[**id as usize] == 0).count();
        self.patterns[pattern][set].cost() * SELECTED * new as f64 / ids.len() as f64
    }

    /// What it would cost more to know the pattern by this set; anything above `least` is too much.
    fn cost(&self, pattern: usize, set: usize, least: f64) -> f64 {
        let new = self.sets[pattern][set].iter().filter(|id| self.uses[**id as usize] == 0);
        let mut cost = self.selected(pattern, set);
        let mut buckets = self.buckets;
        for id in new.filter(|id| self.has_bucket(**id)) {
            match self.put(*id, &mut buckets, least - cost) {
                Some((_, more)) => cost += more,
                None => return f64::INFINITY,
            }
        }
        cost
    }

    /// Puts a window where it costs least, if that can be less than `most`; a short one has no bucket.
    fn put(&self, id: u32, buckets: &mut [Bucket; BUCKETS], most: f64) -> Option<(usize, f64)> {
        if !self.has_bucket(id) {
            return None;
        }
        let mask = &self.masks[id as usize];
        let mut growth: [(usize, f64); BUCKETS] =
            std::array::from_fn(|at| (at, buckets[at].growth(mask, &self.through)));
        growth.sort_unstable_by(|(_, a), (_, b)| a.total_cmp(b));
        let with = |(at, growth): (usize, f64)| {
            let with = if growth < most { buckets[at].with(mask, &self.through)? } else { return None };
            Some((at, with, with.cost() - buckets[at].cost()))
        };
        let cheapest = growth.into_iter().filter_map(with).take(TRIED).min_by(|a, b| a.2.total_cmp(&b.2));
        cheapest.map(|(at, with, cost)| {
            buckets[at] = with;
            (at, cost)
        })
    }

    fn has_bucket(&self, id: u32) -> bool {
        self.windows[id as usize].len() >= WINDOW_BYTES
    }

    fn take(&mut self, pattern: usize, set: usize) {
        self.chosen[pattern] = set;
        for at in 0..self.sets[pattern][set].len() {
            let id = self.sets[pattern][set][at];
            self.uses[id as usize] += 1;
            if self.uses[id as usize] == 1 {
                let mut buckets = self.buckets;
                self.bucket_of[id as usize] = self.put(id, &mut buckets, f64::INFINITY).map(|(bucket, _)| bucket);
                self.buckets = buckets;
                self.placed.push(id);
            }
        }
    }

    /// Returns the windows that no pattern asks for any more, and where they were.
    fn let_go(&mut self, pattern: usize) -> Vec<(u32, Option<usize>)> {
        let mut gone = Vec::new();
        for at in 0..self.sets[pattern][self.chosen[pattern]].len() {
            let id = self.sets[pattern][self.chosen[pattern]][at];
            self.uses[id as usize] -= 1;
            if self.uses[id as usize] == 0 {
                self.placed.retain(|placed| *placed != id);
                gone.push((id, self.bucket_of[id as usize].take()));
            }
        }
        for (_, bucket) in &gone {
            bucket.iter().for_each(|bucket| self.buckets[*bucket] = self.bucket_of(*bucket));
        }
        gone
    }

    fn put_back(&mut self, pattern: usize, gone: &[(u32, Option<usize>)], buckets: [Bucket; BUCKETS]) {
        for id in &self.sets[pattern][self.chosen[pattern]] {
            self.uses[*id as usize] += 1;
        }
        for (id, place) in gone {
            self.bucket_of[*id as usize] = *place;
            self.placed.push(*id);
        }
        self.buckets = buckets;
    }

    fn bucket_of(&self, bucket: usize) -> Bucket {
        let members = self.placed.iter().filter(|id| self.bucket_of[**id as usize] == Some(bucket));
        members.fold(Bucket::default(), |bucket, id| {
            bucket.with(&self.masks[*id as usize], &self.through).unwrap_or(bucket)
        })
    }

    /// Begins another searcher; returns what is in the buckets of the current one, and last the windows without one.
    fn settle(&mut self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); BUCKETS + 1];
        for id in self.placed.drain(..) {
            members[self.bucket_of[id as usize].unwrap_or(BUCKETS)].push(id);
        }
        self.buckets = [Bucket::default(); BUCKETS];
        members
    }

    fn finish(self, groups: Vec<Vec<Vec<u32>>>) -> Choice {
        let mut numbers = vec![0_u32; self.windows.len()];
        let mut windows = Vec::new();
        for id in groups.iter().flatten().flatten() {
            numbers[*id as usize] = u32::try_from(windows.len()).expect("fewer than there are in all");
            windows.push(self.windows[*id as usize].to_vec());
        }
        let renumbered = |ids: &[u32]| ids.iter().map(|id| numbers[*id as usize]).collect::<Vec<u32>>();
        let long = groups.iter().map(|group| renumbered(&buckets::dealt(&group[..BUCKETS])));
        // One short window would make a searcher look at fewer bytes for all of its windows.
        let short: Vec<u32> = groups.iter().flat_map(|group| renumbered(&group[BUCKETS])).collect();
        let groups = long.chain(short.chunks(PATTERNS_LIMIT).map(<[u32]>::to_vec)).filter(|ids| !ids.is_empty());
        let chosen = self.sets.iter().zip(&self.chosen);
        Choice {
            groups: groups.collect(),
            by_pattern: chosen.map(|(sets, set)| renumbered(&sets[*set])).collect(),
            windows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(windows: &[&str]) -> Required {
        Required::any(windows.iter().map(|window| window.as_bytes().to_vec()).collect())
    }

    fn chosen(choice: &Choice, pattern: usize) -> Vec<&str> {
        let windows = choice.by_pattern[pattern].iter().map(|id| &choice.windows[*id as usize]);
        windows.map(|window| std::str::from_utf8(window).unwrap()).collect()
    }

    #[test]
    fn a_window_that_others_ask_for_is_taken() {
        let patterns = [vec![set(&["XFS "])], vec![set(&["Shut"]), set(&["XFS "])], vec![set(&["Zebr", "XFS "])]];
        let choice = choose(&patterns);
        assert_eq!((chosen(&choice, 1), chosen(&choice, 2)), (vec!["XFS "], vec!["Zebr", "XFS "]));
        assert_eq!(choice.windows.len(), 2);
    }

    #[test]
    fn every_pattern_gets_one_of_its_sets_and_every_window_a_searcher() {
        let names: Vec<String> =
            (0..900).map(|n| format!("{n:03x}w")[..if n % 10 == 0 { 3 } else { 4 }].to_owned()).collect();
        let patterns: Vec<Vec<Required>> =
            names.chunks(3).map(|names| vec![set(&[&names[0]]), set(&[&names[1], &names[2]])]).collect();
        let choice = choose(&patterns);
        for (pattern, names) in names.chunks(3).enumerate() {
            let sets = [vec![names[0].as_str()], vec![names[1].as_str(), names[2].as_str()]];
            assert!(sets.contains(&chosen(&choice, pattern)), "{names:?}");
        }
        for id in (0_u32..).take(choice.windows.len()) {
            assert!(choice.groups.iter().any(|group| group.contains(&id)), "{id}");
        }
        assert!(choice.groups.len() > 3 && choice.groups.iter().all(|group| group.len() <= PATTERNS_LIMIT));
    }
}
