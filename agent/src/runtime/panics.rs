//! Panics on demand, for proofs of what survives them. Nothing of it is in an optimised build.

/// Every point there is.
pub const POINTS: [&str; 2] = ["monitor.start", "monitor.judge"];

/// Panics here if `NODEWELL_PANIC_AT` asks for it: `monitor.judge:2,monitor.start:2-3` is the second passing of the one
/// and the second and third of the other, counted over all threads.
#[cfg(debug_assertions)]
pub fn point(name: &'static str) {
    use std::{
        collections::BTreeMap,
        sync::{Mutex, OnceLock, PoisonError},
    };
    static ORDERS: OnceLock<String> = OnceLock::new();
    static PASSED: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());
    let orders = ORDERS.get_or_init(|| std::env::var("NODEWELL_PANIC_AT").unwrap_or_default());
    if orders.is_empty() {
        return;
    }
    let passing = {
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let passing = passed.entry(name).or_default();
        *passing += 1;
        *passing
    };
    assert!(!is_ordered(orders, name, passing), "ordered by NODEWELL_PANIC_AT: {name}, passing {passing}");
}

/// See above.
#[cfg(not(debug_assertions))]
pub fn point(_name: &'static str) {}

#[cfg(debug_assertions)]
fn is_ordered(orders: &str, name: &str, passing: u64) -> bool {
    orders.split(',').filter_map(|order| order.split_once(':')).any(|(point, passings)| {
        let (first, last) = passings.split_once('-').unwrap_or((passings, passings));
        let bounds = first.parse().ok().zip(last.parse().ok());
        point == name && bounds.is_some_and(|(first, last): (u64, u64)| (first..=last).contains(&passing))
    })
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_a_point_and_its_passings() {
        let orders = "monitor.judge:2,monitor.start:2-3,nonsense,monitor.start:x";
        let ordered = |name| (1..=5).filter(|n| is_ordered(orders, name, *n)).collect::<Vec<_>>();
        assert_eq!((ordered("monitor.judge"), ordered("monitor.start")), (vec![2], vec![2, 3]));
        assert_eq!(ordered("nonsense"), [0; 0]);
        assert!(POINTS.iter().all(|point| !point.contains([':', ','])));
    }
}
