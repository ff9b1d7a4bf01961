//! What taints the kernel (Documentation/admin-guide/tainted-kernels.rst): an Event for what is new, never for what was
//! so when we first looked.

use crate::probe::DeviceEvent;
use jiff::Timestamp;
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

/// What a bit means.
struct Taint {
    letter: char,
    meaning: &'static str,
    /// Something went wrong: it is reported each time it comes within a boot. The others stand for what was loaded or
    /// done on purpose: they are reported once for a node.
    is_fault: bool,
}

const fn fault(letter: char, meaning: &'static str) -> Taint {
    Taint { letter, meaning, is_fault: true }
}

const fn choice(letter: char, meaning: &'static str) -> Taint {
    Taint { letter, meaning, is_fault: false }
}

/// In the order of their bits (include/linux/panic.h).
const TAINTS: [Taint; 20] = [
    choice('P', "a proprietary module was loaded"),
    choice('F', "a module was force-loaded"),
    choice('S', "a processor or a system that the kernel does not support"),
    choice('R', "a module was force-unloaded"),
    fault('M', "a processor reported a machine check"),
    fault('B', "a bad page in memory, or unexpected page flags"),
    choice('U', "a program asked for the taint"),
    fault('D', "an oops or a BUG"),
    choice('A', "an ACPI table was overridden"),
    fault('W', "a kernel warning"),
    choice('C', "a driver of the staging tree was loaded"),
    choice('I', "the kernel works around a serious bug of the firmware"),
    choice('O', "an out-of-tree module was loaded"),
    choice('E', "an unsigned module was loaded"),
    fault('L', "a soft lockup happened"),
    choice('K', "the kernel was patched live"),
    choice('X', "a taint of the distributor"),
    choice('T', "the kernel was built with struct randomization"),
    choice('N', "a test ran in the kernel"),
    choice('J', "a program used a mutating debug operation of fwctl"),
];

/// What is known of this node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Taints {
    /// In any boot; `None` before the first look ever.
    ever: Option<u64>,
    /// In this one.
    #[serde(default)]
    boot: Option<u64>,
}

impl Taints {
    pub(super) fn enter_boot(&mut self) {
        self.boot = None;
    }

    pub(super) fn take(&mut self, bits: u64, now: Timestamp) -> Option<DeviceEvent> {
        let ever = self.ever.unwrap_or(bits);
        // At the first look of a boot it is unknown how old the faults are.
        let known = self.boot.unwrap_or(ever);
        let new = |bit: &usize| {
            let mask = 1_u64 << bit;
            let known = if TAINTS[*bit].is_fault { known } else { ever };
            bits & mask != 0 && known & mask == 0
        };
        let new: Vec<&Taint> = (0..TAINTS.len()).filter(new).map(|bit| &TAINTS[bit]).collect();
        (self.ever, self.boot) = (Some(ever | bits), Some(self.boot.unwrap_or_default() | bits));
        let taints: Vec<_> = new.iter().map(|taint| format!("{} ({})", taint.meaning, taint.letter)).collect();
        let args: MessageArgs<'_> = &[("taints", &taints.join(", ")), ("bits", &bits)];
        (!taints.is_empty()).then(|| DeviceEvent::of("KernelTainted", "kernel", args, now))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at() -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    /// What each look of one boot reports.
    fn replay(taints: &mut Taints, looks: &[u64]) -> Vec<Option<String>> {
        looks.iter().map(|bits| taints.take(*bits, at()).map(|reported| reported.message)).collect()
    }

    #[test]
    fn what_was_there_at_first_sight_is_not_reported_and_what_comes_is_reported_once() {
        let mut taints = Taints::default();
        let reported = replay(&mut taints, &[0x1001, 0x1001, 0x1201, 0x1201]);
        assert_eq!(reported.iter().filter(|reported| reported.is_some()).count(), 1);
        let message = reported[2].as_ref().unwrap();
        assert!(message.contains("a kernel warning (W)") && message.contains("4609"), "{message}");
        assert!(!message.contains("(P)"), "{message}");
    }

    #[test]
    fn a_module_is_reported_once_for_a_node_and_a_fault_once_a_boot() {
        let mut taints = Taints::default();
        assert!(replay(&mut taints, &[0, 0x1000])[1].is_some());
        taints.enter_boot();
        // The driver is loaded after we are.
        assert_eq!(replay(&mut taints, &[0, 0x1000, 0x1000]), [None, None, None]);
        assert!(replay(&mut taints, &[0x1080])[0].is_some());
        taints.enter_boot();
        assert_eq!(replay(&mut taints, &[0x1000]), [None]);
        assert!(replay(&mut taints, &[0x1080])[0].is_some());
    }

    #[test]
    fn a_fault_at_the_first_look_of_a_boot_is_new_if_no_boot_before_had_it() {
        let mut taints = Taints::default();
        replay(&mut taints, &[0]);
        taints.enter_boot();
        assert!(replay(&mut taints, &[0x80])[0].is_some());
        taints.enter_boot();
        assert_eq!(replay(&mut taints, &[0x80]), [None]);
    }

    proptest! {
        #[test]
        fn no_bits_break_it_and_nothing_is_reported_twice_in_a_boot(looks in prop::collection::vec(any::<u64>(), 1..20)) {
            let mut taints = Taints::default();
            let mut seen = 0_u64;
            for bits in looks {
                let reported = taints.take(bits, at()).is_some();
                prop_assert!(!reported || bits & !seen != 0);
                seen |= bits;
            }
        }
    }
}
