//! A node, its ledger, its disk and an API server in memory, all of them good at failing.

use std::collections::BTreeMap;

use super::*;

/// Powers of this are the counts of occurrences: a sum shows which were counted, and how often (up to three times).
pub(super) const BASE: u64 = 4;
/// So many occurrences of one kind fit into a sum.
pub(super) const MOST: usize = 28;

/// When the agent dies within a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    /// The server has it, and we do not know.
    AnswerLost,
    NeverArrived,
    /// The Event exists, and looking at it fails.
    LookFails,
    DiesBefore,
    DiesAfterSending,
    DiesBeforePut,
}

pub(super) struct World {
    /// Seconds since the beginning, and of those before the last boot.
    secs: u64,
    booted_at: u64,
    /// Every line of the node's log, for ever.
    log: Vec<EventRecord>,
    occurred: BTreeMap<String, usize>,
    // The ledger.
    read: usize,
    last_id: u64,
    ring: Vec<EventRecord>,
    // The disk: what it has, and what it was asked to write next.
    disk: Rows,
    puts: Vec<Vec<Row>>,
    // The exporter.
    pub(super) state: DeliveryState,
    uids: u64,
    // The server.
    events: BTreeMap<u64, u64>,
    /// The newest count that each name ever had, by subject.
    on_server: BTreeMap<u64, (String, u64)>,
}

impl World {
    pub(super) fn new(limits: EventLimits) -> Self {
        let mut world = Self {
            secs: 0,
            booted_at: 0,
            log: Vec::new(),
            occurred: BTreeMap::new(),
            read: 0,
            last_id: 0,
            ring: Vec::new(),
            disk: Rows::new(),
            puts: Vec::new(),
            state: DeliveryState::new(limits),
            uids: 1,
            events: BTreeMap::new(),
            on_server: BTreeMap::new(),
        };
        world.learn_uid();
        world
    }

    fn now(&self) -> Now {
        Now { boottime: Duration::from_secs(1 + self.secs - self.booted_at), ..now(self.secs) }
    }

    pub(super) fn pass(&mut self, secs: u64) {
        self.secs += secs;
    }

    /// Something happens on the node.
    pub(super) fn occur(&mut self, subject: &str) {
        let nth = self.occurred.entry(subject.to_owned()).or_default();
        if *nth == MOST {
            return;
        }
        let count = BASE.pow(u32::try_from(*nth).unwrap());
        *nth += 1;
        let n = self.log.len() as u64;
        self.log.push(EventRecord { count, ..record(0, n, subject) });
    }

    /// The ledger reads the log, has its records saved with how far it has read, and reports them.
    pub(super) fn report(&mut self) {
        let mut rows = Vec::new();
        for record in &self.log[self.read..] {
            self.last_id += 1;
            let record = EventRecord { id: self.last_id, ..record.clone() };
            rows.push(ledger_row(&record));
            self.ring.push(record);
        }
        self.read = self.log.len();
        rows.extend(self.ledgers_own());
        self.puts.push(rows);
    }

    fn ledgers_own(&self) -> [Row; 2] {
        let row = |table, value: u64| Row { table, key: "own".into(), value: Some(value.to_string()) };
        [row(Table::Cursors, self.read as u64), row(Table::Ledger, self.last_id)]
    }

    pub(super) fn read_log(&mut self) {
        let new = self.ring.iter().filter(|record| record.id > self.state.cursor()).cloned();
        let new = batch(new.collect::<Vec<_>>());
        assert_eq!(self.state.add(new, self.now()), 0);
        self.put();
    }

    fn put(&mut self) {
        let rows = self.state.take_rows();
        self.puts.push(rows);
    }

    /// The disk writes the first `count` puts that wait.
    pub(super) fn write(&mut self, count: usize) {
        let count = count.min(self.puts.len());
        self.puts.drain(..count).collect::<Vec<_>>().into_iter().for_each(|rows| save(&mut self.disk, rows));
    }

    pub(super) fn waiting_puts(&self) -> usize {
        self.puts.len()
    }

    /// The file is removed under us: every owner puts all its rows, the ledger also what was taken over.
    pub(super) fn lose_file(&mut self) {
        self.write(usize::MAX);
        self.disk.clear();
        let rows = self.ring.iter().map(ledger_row).chain(self.ledgers_own()).collect();
        save(&mut self.disk, rows);
        let all = self.state.take_all_rows();
        save(&mut self.disk, all);
    }

    /// The agent dies, the puts that were not written with it; after a while it starts again.
    pub(super) fn crash(&mut self, limits: EventLimits, down_secs: u64, reboot: bool) {
        self.puts.clear();
        self.ring.clear();
        self.secs += down_secs;
        if reboot {
            self.booted_at = self.secs;
        }
        let own = |table| self.disk.get(&(table, "own".to_owned())).map_or(0, |value| value.parse().unwrap());
        (self.read, self.last_id) = (usize::try_from(own(Table::Cursors)).unwrap(), own(Table::Ledger));
        self.state = DeliveryState::new(limits);
        assert_eq!(self.state.load(saved(&self.disk, &TABLES), &[], self.now()), 0);
        self.learn_uid();
    }

    pub(super) fn recreate_node(&mut self) {
        self.uids += 1;
        self.learn_uid();
    }

    fn learn_uid(&mut self) {
        self.state.set_node_uid(&format!("uid-{}", self.uids));
        self.put();
    }

    /// The server forgets one Event: its hour is over, or an old backup was restored.
    pub(super) fn expire(&mut self, nth: usize) {
        let name = self.events.keys().nth(nth % self.events.len().max(1)).copied();
        name.map(|name| self.events.remove(&name));
    }

    /// One delivery with its fate; whether the agent died of it, `None` if there was nothing to send now.
    pub(super) fn deliver(&mut self, fate: Fate) -> Option<bool> {
        let delivery = match self.state.next(self.now().boottime) {
            Next::Send(delivery) => *delivery,
            _ => return None,
        };
        // What is sent is durable first.
        self.write(usize::MAX);
        let answer = match fate {
            Fate::DiesBefore => return Some(true),
            Fate::NeverArrived => None,
            _ => Some(self.request(&delivery)),
        };
        let answer = answer.filter(|answer| {
            let looks = matches!(answer, Outcome::Existed { .. });
            fate != Fate::AnswerLost && !(fate == Fate::LookFails && looks)
        });
        if fate == Fate::DiesAfterSending {
            return Some(true);
        }
        if let Some(outcome) = answer {
            assert_eq!(self.state.apply(&delivery, outcome, self.now().boottime), 0);
        }
        if fate == Fate::DiesBeforePut {
            return Some(true);
        }
        self.put();
        Some(false)
    }

    /// The server's side.
    fn request(&mut self, delivery: &Delivery) -> Outcome {
        match (delivery.created, self.events.get(&delivery.hash)) {
            (true, None) => return Outcome::Vanished,
            (false, Some(count)) => return Outcome::Existed { count: *count },
            (true, Some(count)) => assert!(delivery.count >= *count, "a count goes down: {delivery:?}"),
            (false, None) => {}
        }
        self.events.insert(delivery.hash, delivery.count);
        self.on_server.insert(delivery.hash, (delivery.first.subject.clone().unwrap(), delivery.count));
        Outcome::Delivered
    }

    /// Everything comes to an end: what was read is reported, received and delivered, limits or not.
    pub(super) fn deliver_all(&mut self) {
        self.report();
        self.read_log();
        for _ in 0..100_000 {
            if self.deliver(Fate::Answered).is_none() && self.state.aggregate.waiting() == 0 {
                return self.write(usize::MAX);
            }
            self.pass(7);
        }
        panic!("it never comes to rest");
    }

    /// Records that the store would return once more.
    pub(super) fn left(&self) -> Vec<Row> {
        saved(&self.disk, &[Table::Events])
    }

    /// Of each subject, the sum that its Events count, and the one that they should.
    pub(super) fn sums(&self) -> BTreeMap<String, (u64, u64)> {
        let mut sums = BTreeMap::<String, (u64, u64)>::new();
        for (subject, count) in self.on_server.values() {
            sums.entry(subject.clone()).or_default().0 += count;
        }
        for (subject, times) in &self.occurred {
            let exactly_once = (0..*times).map(|nth| BASE.pow(u32::try_from(nth).unwrap())).sum();
            sums.entry(subject.clone()).or_default().1 = exactly_once;
        }
        sums
    }
}
