//! What a judge remembers of this boot alone, and how that is saved: what a boot changes (plugs, names, disks that were
//! moved) cannot be seen from the boot before.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Now, clock::Moment, last_saved::LastSaved};

/// The moment of the last round stands in the saved state under this name, beside the fields of the state.
const MOMENT: &str = "moment";

/// A judge's state of one boot. Saved it is an object.
#[derive(Debug, Default)]
pub struct BootHistory<T> {
    moment: Option<Moment>,
    pub state: T,
    last_saved: LastSaved,
}

impl<T: Default + Serialize + DeserializeOwned> BootHistory<T> {
    /// A round begins. Whether that is in another boot, whose state begins with nothing.
    pub fn begin_round(&mut self, now: &Now) -> bool {
        let is_new_boot = self.moment.as_ref().is_some_and(|moment| moment.step_to(now).new_boot);
        if is_new_boot {
            self.state = T::default();
        }
        self.moment = Some(now.into());
        is_new_boot
    }

    /// The state, if it is not as it was last saved. The moment goes on in each round; it is saved with what changed.
    pub fn save(&mut self) -> Option<Value> {
        let mut saved = self.last_saved.if_changed(&self.state)?;
        saved.as_object_mut()?.insert(MOMENT.to_owned(), serde_json::to_value(&self.moment).ok()?);
        Some(saved)
    }

    /// Loads what an earlier run saved, and need not be written again; what cannot be understood is dropped.
    pub fn load(&mut self, saved: Value) {
        let moment = saved.get(MOMENT).cloned().unwrap_or_default();
        let (Ok(moment), Ok(state)) = (serde_json::from_value(moment), serde_json::from_value::<T>(saved)) else {
            return;
        };
        let _ = self.last_saved.if_changed(&state);
        (self.moment, self.state) = (moment, state);
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use jiff::Timestamp;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Seen {
        fans: BTreeMap<String, u32>,
    }

    fn now(secs: u64, boot_id: &str) -> Now {
        Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(secs), boot_id: boot_id.to_owned() }
    }

    /// As it is saved: 10 s after the start of boot `a`.
    fn moment() -> Value {
        json!({"wall": "1970-01-01T00:00:00Z", "boottime_secs": 10, "boot_id": "a"})
    }

    fn seen(rpm: u32) -> Seen {
        Seen { fans: BTreeMap::from([("fan1".to_owned(), rpm)]) }
    }

    #[test]
    fn what_changed_is_saved_once_and_with_its_moment() {
        let mut history = BootHistory::<Seen>::default();
        assert!(!history.begin_round(&now(10, "a")));
        history.state = seen(7);
        let saved = history.save().unwrap();
        assert_eq!(saved, json!({"fans": {"fan1": 7}, "moment": moment()}));
        assert!(!history.begin_round(&now(20, "a")));
        assert_eq!(history.save(), None, "only the moment went on");
        let mut again = BootHistory::<Seen>::default();
        again.load(saved);
        assert_eq!(again.save(), None, "what was loaded is not written again");
        assert_eq!(again.state, seen(7));
        again.state = seen(8);
        assert!(again.save().is_some());
    }

    #[test]
    fn another_boot_begins_with_nothing() {
        let mut history = BootHistory::<Seen>::default();
        history.load(json!({"fans": {"fan1": 7}, "moment": moment()}));
        assert!(!history.begin_round(&now(15, "a")));
        assert_eq!(history.state, seen(7));
        assert!(history.begin_round(&now(5, "b")));
        assert_eq!(history.state, Seen::default());
        assert!(history.save().is_some(), "or the next start would load what is over");
    }

    #[test]
    fn what_cannot_be_understood_is_dropped_as_a_whole() {
        let mut history = BootHistory { state: seen(7), ..BootHistory::default() };
        for saved in [json!(null), json!(7), json!({"fans": 7, "moment": moment()}), json!({"fans": {}, "moment": 7})] {
            history.load(saved);
            assert_eq!(history.state, seen(7));
        }
        history.load(json!({"moment": moment()}));
        assert_eq!(history.state, Seen::default(), "a field that is missing is as new");
    }
}
