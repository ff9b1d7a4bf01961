//! The body of `GET /v1/events?follow=true`: one event a line, for as long as the peer listens. A peer that reads too
//! slowly falls behind the event log and sees it from a jump in the ids; it never makes the log grow.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use hyper::body::Bytes;
use nodewell_model::EventRecord;

use crate::shared_state::EventLog;

/// Events a chunk: enough to catch up quickly, few enough to keep a chunk small.
const CHUNK_EVENTS: usize = 32;

/// Waits for events and turns them into lines.
pub(super) struct Follower {
    log: EventLog,
    after: u64,
    next: Pin<Box<dyn Future<Output = Vec<EventRecord>> + Send>>,
}

impl Follower {
    pub(super) fn new(log: EventLog, after: u64) -> Self {
        let next = Box::pin(newer(log.clone(), after));
        Self { log, after, next }
    }

    pub(super) fn poll_lines(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        let events = ready!(self.next.as_mut().poll(context));
        self.after = events.last().map_or(self.after, |event| event.id);
        self.next = Box::pin(newer(self.log.clone(), self.after));
        Poll::Ready(lines(&events))
    }
}

async fn newer(log: EventLog, after: u64) -> Vec<EventRecord> {
    log.changed(after).await;
    log.since(after, CHUNK_EVENTS)
}

fn lines(events: &[EventRecord]) -> Bytes {
    let mut text = Vec::with_capacity(events.len() * 256);
    for event in events {
        // An event has string keys and finite numbers only: it always serialises.
        text.extend(serde_json::to_vec(&event.view()).unwrap_or_default());
        text.push(b'\n');
    }
    Bytes::from(text)
}
