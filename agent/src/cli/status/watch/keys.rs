//! What a person presses.

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// A key, by what it does. A resize is one that does nothing, after which the screen is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Suspend,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// What is well is listed, or folded again.
    All,
    Other,
}

/// Keys as they come. The thread waits in the terminal until the program ends; without a terminal to read from there are
/// no keys, and signals end the program.
pub(super) fn listen() -> mpsc::Receiver<Key> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(key(&event)).is_err() {
                return;
            }
        }
    });
    receiver
}

fn key(event: &Event) -> Key {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) = event else {
        return Key::Other;
    };
    match (code, modifiers.contains(KeyModifiers::CONTROL)) {
        (KeyCode::Char('c' | 'd'), true) => Key::Quit,
        (KeyCode::Char('z'), true) => Key::Suspend,
        (KeyCode::Char('q'), false) | (KeyCode::Esc, _) => Key::Quit,
        (KeyCode::Char('k'), false) | (KeyCode::Up, _) => Key::Up,
        (KeyCode::Char('j'), false) | (KeyCode::Down | KeyCode::Enter, _) => Key::Down,
        (KeyCode::Char('b'), _) | (KeyCode::PageUp, _) => Key::PageUp,
        (KeyCode::Char('f'), _) | (KeyCode::Char(' ') | KeyCode::PageDown, _) => Key::PageDown,
        (KeyCode::Char('g'), false) | (KeyCode::Home, _) => Key::Home,
        (KeyCode::Char('G'), false) | (KeyCode::End, _) => Key::End,
        (KeyCode::Char('a'), false) => Key::All,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_pagers() {
        let pressed = |code, modifiers| key(&Event::Key(KeyEvent::new(code, modifiers)));
        for (code, expected) in [
            (KeyCode::Char('q'), Key::Quit),
            (KeyCode::Esc, Key::Quit),
            (KeyCode::Down, Key::Down),
            (KeyCode::Char('k'), Key::Up),
            (KeyCode::Char(' '), Key::PageDown),
            (KeyCode::Char('g'), Key::Home),
            (KeyCode::Char('a'), Key::All),
            (KeyCode::Char('c'), Key::Other),
        ] {
            assert_eq!(pressed(code, KeyModifiers::NONE), expected, "{code:?}");
        }
        assert_eq!(pressed(KeyCode::Char('G'), KeyModifiers::SHIFT), Key::End);
        assert_eq!(pressed(KeyCode::Char('c'), KeyModifiers::CONTROL), Key::Quit);
        assert_eq!(pressed(KeyCode::Char('z'), KeyModifiers::CONTROL), Key::Suspend);
        assert_eq!(pressed(KeyCode::Char('q'), KeyModifiers::CONTROL), Key::Other);
        assert_eq!(key(&Event::Resize(80, 24)), Key::Other);
    }
}
