//! What is remembered over boots, as long as it is this machine's and was read as it is now. Pure.

use std::collections::BTreeMap;

use nodewell_model::inventory::ComponentClass;
use serde::{Deserialize, Serialize};

use super::{class::ClassState, reading::InventoryReading};

/// How components are read and named. One more with each change that shows the same hardware differently: what an older agent
/// remembers is no evidence of a loss then.
const FORM: u32 = 1;

/// The saved state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct History {
    form: u32,
    uuid: String,
    product: String,
    pub(super) classes: BTreeMap<ComponentClass, ClassState>,
}

impl History {
    /// Forgets what is no evidence of a loss on this machine, and returns whether anything was: a disk that was moved or copied
    /// has the state of another, and a virtual machine of another product, as a cloud calls its sizes, was resized.
    pub(super) fn claim(&mut self, reading: &InventoryReading) -> bool {
        let product = &reading.facts.product;
        let is_other = self.form != FORM
            || differ(&self.uuid, &reading.uuid)
            || reading.is_virtual && differ(&self.product, product);
        let forgets = is_other && !self.classes.is_empty();
        if is_other {
            *self = Self::default();
        }
        self.form = FORM;
        for (before, now) in [(&mut self.uuid, &reading.uuid), (&mut self.product, product)] {
            if !now.is_empty() {
                before.clone_from(now);
            }
        }
        forgets
    }
}

/// What is not shown now was not read.
fn differ(one: &str, other: &str) -> bool {
    !one.is_empty() && !other.is_empty() && one != other
}
