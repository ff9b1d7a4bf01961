//! Whose configuration is looked at next: far more often than BMCs are asked, so that a change of it is answered soon.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use nodewell_reconcile::{cache::Cache, clock::Clock};
use nodewell_remediation::{facts::Node, snapshot::Snapshot, time::Moment};
use tokio::time::sleep;

/// Between two looks.
const TICK: Duration = Duration::from_secs(1);
/// Nodes of one look. Each reads three ConfigMaps and a Secret, or some more: 32 requests a second.
const EACH_TICK: usize = 8;
/// A node is not looked at sooner again, and where there are more than 240 of them later: 3,000 take six minutes.
const AGAIN: Duration = Duration::from_secs(30);

/// When each node was looked at last.
#[derive(Debug, Default)]
struct Looks(BTreeMap<String, Moment>);

impl Looks {
    /// Those of the next look: new ones, then those that wait longest.
    fn next(&mut self, snapshot: &Snapshot, now: Moment) -> Vec<Node> {
        self.0.retain(|name, _| snapshot.nodes.contains_key(name));
        let is_due = |at: &Option<Moment>| at.is_none_or(|at| now.since(at) >= AGAIN);
        let all = snapshot.nodes.values().map(|node| (self.0.get(&node.name).copied(), node));
        let mut due: Vec<(Option<Moment>, &Node)> = all.filter(|(at, _)| is_due(at)).collect();
        due.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        let next: Vec<Node> = due.into_iter().take(EACH_TICK).map(|(_, node)| node.clone()).collect();
        self.0.extend(next.iter().map(|node| (node.name.clone(), now)));
        next
    }
}

/// While `leads`; never returns.
pub(super) async fn run(
    look: impl AsyncFn(Vec<Node>),
    cache: &Cache,
    clock: Clock,
    leads: impl Fn() -> bool,
) -> Infallible {
    let mut looks = Looks::default();
    loop {
        if leads() {
            let next = cache.with(|snapshot| looks.next(snapshot, clock.moment()));
            tokio::join!(look(next), sleep(TICK));
        } else {
            looks = Looks::default();
            sleep(TICK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(nodes: usize) -> Snapshot {
        let node = |at: usize| Node { name: format!("n-{at:04}"), ..Node::default() };
        let nodes = (0..nodes).map(|at| (node(at).name, node(at))).collect();
        Snapshot { nodes, ..Snapshot::default() }
    }

    /// When each look begins, and at whom it looks.
    fn looks(looks: &mut Looks, snapshot: &Snapshot, secs: std::ops::Range<u64>) -> Vec<(u64, String)> {
        let at = |secs: u64| Moment(Duration::from_secs(secs));
        secs.flat_map(|secs| looks.next(snapshot, at(secs)).into_iter().map(move |node| (secs, node.name))).collect()
    }

    #[test]
    fn a_node_is_looked_at_at_once_and_twice_a_minute() {
        let all = looks(&mut Looks::default(), &snapshot(2), 7..70);
        let of = |name: &str| all.iter().filter(|(_, one)| one == name).map(|(secs, _)| *secs).collect::<Vec<_>>();
        assert_eq!([of("n-0000"), of("n-0001")], [[7, 37, 67], [7, 37, 67]]);
    }

    #[test]
    fn three_thousand_nodes_are_looked_at_one_after_the_other() {
        let all = looks(&mut Looks::default(), &snapshot(3000), 0..750);
        let most = (0..750).map(|secs| all.iter().filter(|(at, _)| *at == secs).count()).max();
        assert_eq!(most, Some(EACH_TICK));
        let times = all.iter().fold(BTreeMap::<&str, usize>::new(), |mut times, (_, name)| {
            *times.entry(name).or_default() += 1;
            times
        });
        assert_eq!((times.len(), times.values().min(), times.values().max()), (3000, Some(&2), Some(&2)));
    }

    #[test]
    fn a_new_node_comes_before_those_that_wait() {
        let mut before = Looks::default();
        looks(&mut before, &snapshot(300), 0..40);
        let mut more = snapshot(300);
        more.nodes.insert("new".to_owned(), Node { name: "new".to_owned(), ..Node::default() });
        assert!(looks(&mut before, &more, 40..41).contains(&(40, "new".to_owned())));
        assert!(looks(&mut before, &snapshot(0), 41..42).is_empty());
        assert!(before.0.is_empty(), "those that are gone are forgotten");
    }
}
