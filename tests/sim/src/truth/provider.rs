//! What a provider has been asked for and has not done yet.

use nodewell_remediation::time::Moment;

#[derive(Debug, Default)]
pub struct Orders {
    /// Machines that are taken away then, by the provider's name of each.
    late: Vec<(Moment, String)>,
    /// Nodes of machines that are gone, which the cloud controller deletes then.
    vacant: Vec<(Moment, String)>,
}

impl Orders {
    pub fn take_later(&mut self, id: &str, at: Moment) {
        self.late.push((at, id.to_owned()));
    }

    pub fn vacate(&mut self, name: &str, at: Moment) {
        self.vacant.push((at, name.to_owned()));
    }

    pub(super) fn due(&mut self, now: Moment) -> Vec<String> {
        ripe(&mut self.late, now)
    }

    pub(super) fn vacated(&mut self, now: Moment) -> Vec<String> {
        ripe(&mut self.vacant, now)
    }
}

fn ripe(orders: &mut Vec<(Moment, String)>, now: Moment) -> Vec<String> {
    orders.extract_if(.., |(at, _)| *at <= now).map(|(_, name)| name).collect()
}
