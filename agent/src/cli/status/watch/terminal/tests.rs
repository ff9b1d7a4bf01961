//! What a terminal is left as, seen from the other side of it: `script` (bsdutils, util-linux) has one made.

use std::{
    env,
    process::{Command, Stdio},
};

use super::*;

#[test]
fn nothing_of_a_line_is_cleared_after_it_was_written() {
    let text = String::from_utf8(drawn(&["one".to_owned(), "two".to_owned()]).unwrap()).unwrap();
    assert!(text.contains("\u{1b}[1;1H\u{1b}[Kone\u{1b}[2;1H\u{1b}[Ktwo\u{1b}["), "{text:?}");
    let (_, after) = text.split_once("two").unwrap();
    assert!(!after.contains('K') && !after.contains('J'), "{after:?}");
}

/// On the alternate screen its message would be gone with it. Runs in a process of its own, see below.
#[test]
#[ignore = "run on a terminal of its own by a_panic_leaves_the_terminal_as_it_was_and_its_message_on_it"]
fn panics_with_a_screen_shown() {
    let mut terminal = Terminal::enter().unwrap();
    terminal.draw(&["the screen".to_owned()]).unwrap();
    panic!("the message");
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was_and_its_message_on_it() {
    let this = env::current_exe().unwrap();
    let name = "cli::status::watch::terminal::tests::panics_with_a_screen_shown";
    let line = format!("stty -g; '{}' --ignored --exact {name} --nocapture --test-threads=1; stty -g", this.display());
    let run = Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output();
    let Ok(run) = run else {
        eprintln!("SKIP a_panic_leaves_the_terminal_as_it_was_and_its_message_on_it: `script` is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let modes: Vec<&str> = text.lines().filter(|line| line.split(':').count() > 30).map(str::trim).collect();
    assert_eq!(modes.len(), 2, "{text:?}");
    assert_eq!(modes[0], modes[1], "the modes of the terminal are as before");
    let (entered, left) = (text.find("\u{1b}[?1049h").unwrap(), text.find("\u{1b}[?1049l").unwrap());
    let message = text.find("the message").unwrap();
    assert!(entered < left && left < message, "{text:?}");
    assert_eq!(text.matches("\u{1b}[?1049l").count(), 1, "{text:?}");
    assert!(text[..message].contains("\u{1b}[?25h") && text[..message].contains("\u{1b}[?7h"), "{text:?}");
}
