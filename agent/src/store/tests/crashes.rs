//! Any puts, crashes and ends in any order: the file holds what a plain map holds, up to a moment that is whole.

use std::{collections::BTreeMap, path::Path};

use nodewell_model::{Row, Table};
use proptest::prelude::*;

use super::{
    super::{Store, WritePriority},
    LONG, durable, open, photograph,
};

type Map = BTreeMap<(Table, String), String>;

#[derive(Debug, Clone)]
enum Step {
    Put(Vec<Row>, WritePriority),
    PutAll(Vec<Table>, Vec<Row>),
    /// Waits until everything is durable.
    Flush,
    Crash,
    Close,
}

const TABLES: [Table; 3] = [Table::Claims, Table::Events, Table::Series];

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0usize..3, 0u8..6, proptest::option::of("[a-z]{0,300}"));
    let row = row.prop_map(|(table, key, value)| Row { table: TABLES[table], key: key.to_string(), value });
    proptest::collection::vec(row, 0..8)
}

fn step() -> impl Strategy<Value = Step> {
    let priority = prop_oneof![Just(WritePriority::Lazily), Just(WritePriority::Soon), Just(WritePriority::Now)];
    let tables = proptest::sample::subsequence(TABLES.to_vec(), 0..=3);
    prop_oneof![
        6 => (rows(), priority).prop_map(|(rows, priority)| Step::Put(rows, priority)),
        1 => (tables, rows()).prop_map(|(tables, rows)| Step::PutAll(tables, rows)),
        2 => Just(Step::Flush),
        2 => Just(Step::Crash),
        1 => Just(Step::Close),
    ]
}

fn apply(map: &mut Map, rows: &[Row]) {
    for Row { table, key, value } in rows {
        match value {
            Some(value) => _ = map.insert((*table, key.clone()), value.clone()),
            None => _ = map.remove(&(*table, key.clone())),
        }
    }
}

/// With the file made: a photograph of that moment could be of anything.
async fn opened(directory: &Path) -> Store {
    let store = open(directory);
    store.load(&[], LONG).await.unwrap();
    store
}

/// Follows the steps; after every crash the file must hold one of the states since the last durable one.
async fn check(steps: Vec<Step>) {
    let mut directory = tempfile::tempdir().unwrap();
    let mut store = opened(directory.path()).await;
    // The states that the file may hold: the first is durable for sure.
    let mut states = vec![Map::new()];
    let mut last = 0;
    for step in steps {
        let mut now = states.last().unwrap().clone();
        match step {
            Step::Put(rows, priority) => {
                apply(&mut now, &rows);
                last = store.put(rows, priority);
                states.push(now);
            }
            Step::PutAll(tables, rows) => {
                now.retain(|(table, _), _| !tables.contains(table));
                apply(&mut now, &rows);
                last = store.put_all(&tables, rows);
                states.push(now);
            }
            Step::Flush => {
                assert!(last == 0 || durable(&store, last).await);
                states = vec![now];
            }
            Step::Crash => {
                let after = photograph(directory.path());
                drop(store);
                directory = after;
                store = open(directory.path());
                let found: Map = store
                    .load(&Table::ALL, LONG)
                    .await
                    .unwrap()
                    .into_iter()
                    .map(|row| ((row.table, row.key), row.value.unwrap()))
                    .collect();
                assert!(states.contains(&found), "{found:?} is none of {states:?}");
                states = vec![found];
                last = 0;
            }
            Step::Close => {
                assert!(store.close(LONG).await);
                store = opened(directory.path()).await;
                states = vec![now];
                last = 0;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn a_crash_leaves_a_state_that_was_whole(steps in proptest::collection::vec(step(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(steps));
    }
}
