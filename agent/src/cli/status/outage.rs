//! Where no agent answers `nodewell status --watch` any more: what a program that reads it is shown of that, once.

use jiff::Timestamp;
use nodewell_time::age;

/// Since when there is no answer.
#[derive(Debug, Default)]
pub(super) struct Outage(Option<Timestamp>);

impl Outage {
    /// There was no answer; the line for its beginning.
    pub(super) fn goes_on(&mut self, why: &str, now: Timestamp) -> Option<String> {
        let is_new = self.0.is_none();
        self.0.get_or_insert(now);
        is_new.then(|| format!("{why}; waiting for the agent, what was shown last may not hold any more"))
    }

    /// There was one; the line for its end.
    pub(super) fn over(&mut self, now: Timestamp) -> Option<String> {
        self.0.take().map(|since| format!("the agent answers again, after {}", age(since, now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_has_one_line_at_its_beginning_and_one_at_its_end() {
        let at = |secs| Timestamp::from_second(secs).unwrap();
        let mut outage = Outage::default();
        assert_eq!(outage.over(at(0)), None);
        let begins = outage.goes_on("nothing answers", at(10)).unwrap();
        assert!(begins.starts_with("nothing answers; "), "{begins}");
        assert_eq!(outage.goes_on("no answer within 10s", at(20)), None);
        assert_eq!(outage.over(at(52)).unwrap(), "the agent answers again, after 42s");
        assert_eq!(outage.over(at(60)), None);
        assert!(outage.goes_on("nothing answers", at(70)).is_some(), "the next one is news again");
    }
}
