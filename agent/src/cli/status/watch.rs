//! `nodewell status --watch` for people: a screen of its own, which is drawn again on every answer, key and second.

mod frame;
mod keys;
mod terminal;

use std::{process::ExitCode, time::Duration};

use jiff::Timestamp;
use nodewell_client::{Client, ClientError};
use nodewell_model::view::{EventView, NodeView};
use tokio::{
    select,
    sync::mpsc,
    time::{Interval, MissedTickBehavior, interval, sleep},
};

use self::{
    frame::{Content, Frame},
    keys::Key,
    terminal::Terminal,
};
use super::{Extent, Status, WATCH_EVERY};
use crate::cli::{
    error::{CommandError, SOFTWARE},
    render::Look,
    signals::Signals,
};

/// More than any terminal has lines for.
const EVENTS: usize = 100;
/// Ages on the screen grow.
const REDRAW_EVERY: Duration = Duration::from_secs(1);

pub(super) use terminal::is_usable;

/// Shows until a key or a signal ends it. The terminal is as before then, whatever the end.
pub(super) async fn run(status: &Status, client: &Client) -> Result<ExitCode, CommandError> {
    // The first answer must come; the command waits for an agent that goes away later.
    let first = ask(client).await?;
    let mut answers = answers(client.clone());
    // Each of them would leave the terminal as it is.
    let mut signals = Signals::new()?;
    let mut terminal = Terminal::enter()?;
    let mut keys = keys::listen();
    let mut redraws = redraws();
    let mut screen = Screen { status, answer: first, failure: None, extent: status.extent(), first_line: 0 };
    loop {
        terminal.draw(&screen.lines())?;
        select! {
            answer = answers.recv() => screen.take(answer.ok_or_else(stopped)?)?,
            Some(key) = keys.recv() => match key {
                Key::Quit => return Ok(ExitCode::SUCCESS),
                Key::Suspend => terminal.suspend()?,
                key => screen.press(key),
            },
            code = signals.recv() => return Ok(ExitCode::from(code)),
            _ = redraws.tick() => {}
        }
    }
}

/// What the agent answers at one moment.
struct Answer {
    view: NodeView,
    events: Vec<EventView>,
    time: Timestamp,
}

async fn ask(client: &Client) -> Result<Answer, ClientError> {
    let view = client.get("/v1/status").await?;
    let events = client.get(&format!("/v1/events?limit={EVENTS}")).await?;
    Ok(Answer { view, events, time: Timestamp::now() })
}

/// An agent that does not answer must not hold up the keys.
fn answers(client: Client) -> mpsc::Receiver<Result<Answer, ClientError>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            sleep(WATCH_EVERY).await;
            if sender.send(ask(&client).await).await.is_err() {
                return;
            }
        }
    });
    receiver
}

fn stopped() -> CommandError {
    CommandError::new(SOFTWARE, "the task that asks the agent has ended; this is a fault of nodewell, please report it")
}

/// While the program is stopped no moment comes for a screen: afterwards one is enough.
fn redraws() -> Interval {
    let mut redraws = interval(REDRAW_EVERY);
    redraws.set_missed_tick_behavior(MissedTickBehavior::Skip);
    redraws
}

/// What is shown, and from where on.
struct Screen<'a> {
    status: &'a Status,
    answer: Answer,
    /// Why there is no newer answer.
    failure: Option<String>,
    extent: Extent,
    /// Of the lines between the header and the events.
    first_line: usize,
}

impl Screen<'_> {
    fn take(&mut self, answer: Result<Answer, ClientError>) -> Result<(), CommandError> {
        match answer {
            Ok(answer) => (self.answer, self.failure) = (answer, None),
            Err(error) if error.is_temporary() => self.failure = Some(error.to_string()),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn press(&mut self, key: Key) {
        let page = self.frame().page();
        let line = self.first_line;
        self.first_line = match key {
            Key::Down => line + 1,
            Key::Up => line.saturating_sub(1),
            Key::PageDown => line + page,
            Key::PageUp => line.saturating_sub(page),
            Key::Home => 0,
            Key::End => usize::MAX,
            Key::All | Key::Other | Key::Quit | Key::Suspend => line,
        };
        if key == Key::All {
            self.extent = if self.extent == Extent::Folded { self.status.listed() } else { Extent::Folded };
        }
    }

    fn lines(&mut self) -> Vec<String> {
        let frame = self.frame();
        self.first_line = self.first_line.min(frame.last_first_line());
        frame.lines(self.first_line)
    }

    /// For the terminal as it is now: it may be resized at any time.
    fn frame(&self) -> Frame {
        let account = self.status.wanted(self.answer.view.clone());
        let content = Content {
            account: &account,
            events: &self.answer.events,
            failure: self.failure.as_deref(),
            asked: self.answer.time,
            extent: self.extent,
        };
        Frame::new(&content, Timestamp::now(), Look::of_stdout())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_program_that_was_stopped_draws_once_and_then_every_second() {
        let mut redraws = redraws();
        redraws.tick().await;
        tokio::time::advance(Duration::from_secs(3600)).await;
        redraws.tick().await;
        let began = tokio::time::Instant::now();
        redraws.tick().await;
        let waited = began.elapsed();
        assert!(waited > REDRAW_EVERY / 2, "{waited:?}");
    }
}
