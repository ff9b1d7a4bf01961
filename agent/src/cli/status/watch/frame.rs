//! The lines of the screen: the header, what is wrong, the newest events below, and the keys. A value of its inputs alone.

use jiff::Timestamp;
use nodewell_model::view::EventView;
use nodewell_time::age;

use crate::cli::{
    health::Account,
    render::{Extent, Look, Paint, Sections, event_summary, sections},
};

/// With so many lines or fewer there is no room for more than what is wrong.
const SMALL: usize = 8;
/// So many events are shown if there is room for them, and as many lines of the status at least.
const EVENTS_MIN: usize = 3;

/// What is shown.
pub(super) struct Content<'a> {
    pub(super) account: &'a Account,
    /// Oldest first.
    pub(super) events: &'a [EventView],
    /// Why there is no newer answer than that of `asked`.
    pub(super) failure: Option<&'a str>,
    pub(super) asked: Timestamp,
    pub(super) extent: Extent,
}

/// The parts of one screen.
pub(super) struct Frame {
    head: Vec<String>,
    /// As long as it is.
    body: Vec<String>,
    room: usize,
    tail: Vec<String>,
    look: Look,
}

impl Frame {
    pub(super) fn new(content: &Content<'_>, now: Timestamp, look: Look) -> Self {
        let Sections { header, body } = sections(content.account, content.extent, now, look);
        let head = head(&header, content, now, look);
        let body: Vec<String> = body.lines().map(str::to_owned).collect();
        let left = look.height.saturating_sub(head.len());
        let tail = tail(content, left, body.len(), now, look);
        Self { room: left - tail.len().min(left), head, body, tail, look }
    }

    /// How far a page of the body goes: a line of the last one stays in sight.
    pub(super) fn page(&self) -> usize {
        self.rows().saturating_sub(1).max(1)
    }

    /// The first line of the last page.
    pub(super) fn last_first_line(&self) -> usize {
        self.body.len().saturating_sub(self.rows())
    }

    /// As many lines as the screen has, with the body from `first_line` on.
    pub(super) fn lines(&self, first_line: usize) -> Vec<String> {
        let rows = self.rows();
        let shown = self.body.iter().skip(first_line).take(rows);
        let mut lines: Vec<String> = self.head.iter().chain(shown).cloned().collect();
        if self.body.len() > self.room && self.room > 0 {
            lines.push(self.position(first_line));
        }
        // The events stand at the lower edge.
        lines.resize(self.look.height.saturating_sub(self.tail.len()), String::new());
        lines.extend(self.tail.iter().cloned());
        lines.truncate(self.look.height);
        lines
    }

    /// How many lines of the body are seen: one less than there is room for if there are more.
    fn rows(&self) -> usize {
        if self.body.len() > self.room { self.room.saturating_sub(1) } else { self.room }
    }

    fn position(&self, first_line: usize) -> String {
        let last = (first_line + self.rows()).min(self.body.len());
        let more = self.body.len() - last;
        let text = match (first_line, more) {
            (0, _) => format!("{} {more} more lines", self.look.sign("↓", "v")),
            (_, 0) => format!("{} {first_line} lines above", self.look.sign("↑", "^")),
            _ => format!("{} {first_line} lines above, {more} more", self.look.sign("↕", "|")),
        };
        self.look.paint(Paint::Strong, &self.look.fit(&text, self.look.width.unwrap_or(usize::MAX)))
    }
}

/// The header, as long as it leaves most of the screen to the rest, and whether it is of now.
fn head(header: &str, content: &Content<'_>, now: Timestamp, look: Look) -> Vec<String> {
    let width = look.width.unwrap_or(usize::MAX);
    let failure = content.failure.map(|failure| {
        let text = format!("as of {} ago: {failure}", age(content.asked, now));
        look.paint(Paint::Bad, &look.fit(&text, width))
    });
    let most = (look.height / 4).max(1);
    let lines = header.lines().map(str::to_owned).take(most);
    let blank = (look.height > SMALL).then(String::new);
    failure.into_iter().chain(lines).chain(blank).collect()
}

/// The newest events, as many as there is room for, and the keys.
fn tail(content: &Content<'_>, left: usize, body: usize, now: Timestamp, look: Look) -> Vec<String> {
    if look.height <= SMALL {
        return Vec::new();
    }
    let width = look.width.unwrap_or(usize::MAX);
    // A blank line, a title and the keys.
    let room = left.saturating_sub(body + 3).max((left / 4).max(EVENTS_MIN));
    let newest = content.events.iter().rev().take(room.min(left.saturating_sub(EVENTS_MIN + 3)));
    let events: Vec<String> = newest.map(|event| event_summary(event, now, look)).collect();
    let title = match (content.events.is_empty(), events.is_empty()) {
        (true, _) => "No event since the agent started",
        (false, true) => "No room for events",
        (false, false) => "Events, the newest first:",
    };
    let arrows = look.sign("↑↓ scroll", "j/k scroll");
    let fold = if content.extent == Extent::Folded { "a all" } else { "a fold" };
    let keys = look.fit(&format!("q quit  {arrows}  {fold}"), width);
    let mut tail = vec![String::new(), look.fit(title, width)];
    tail.extend(events);
    tail.push(look.paint(Paint::Faint, &keys));
    tail
}

#[cfg(test)]
mod tests;
