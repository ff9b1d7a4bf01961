//! A line about the controller.

use super::{
    Page,
    look::{Paint, one_line},
};
use crate::view::controller::{ControllerState, ControllerView};

/// Lines, each ended; none where it could not be asked, since a note is there then.
pub(super) fn lines(view: &ControllerView, page: &Page) -> String {
    let mut text = String::new();
    if let Some(why) = &view.paused {
        let paused = format!("paused: {} (nodewell-controller resume goes on)", one_line(why));
        text.push_str(&page.look.paint(Paint::Bad, &paused));
        text.push('\n');
    }
    if let Some(sentence) = sentence(view, page) {
        text.push_str(&format!("nodewell-controller: {sentence}\n"));
    }
    text
}

fn sentence(view: &ControllerView, page: &Page) -> Option<String> {
    let host = one_line(view.host.as_deref().unwrap_or_default());
    let age = page.age(view.decided);
    Some(match view.state {
        ControllerState::Leads => format!("{host} leads, and decided {age} ago"),
        ControllerState::DryRun => format!("{host} is in a dry run: it decides and does nothing"),
        ControllerState::Gone => format!("none decides now; {host} was the last, {age} ago"),
        ControllerState::Undecided => "none has decided anything yet".to_owned(),
        ControllerState::NotInstalled => {
            "not installed: this cluster has none of its kinds, and nothing follows from conditions".to_owned()
        }
        ControllerState::Unread => return None,
    })
}
