//! What `nodewelld --help` prints.

use super::{ABOUT, EXAMPLES, FLAGS, NAME};

/// Of the list of flags.
const WIDTH: usize = 100;

pub(super) fn help() -> String {
    let flags = FLAGS.iter().filter(|flag| !flag.is_hidden).map(|flag| (format!("    {flag}"), flag.help));
    let own = [("-h, --help", "Print help"), ("-V, --version", "Print version")];
    let rows: Vec<_> = flags.chain(own.map(|(flag, help)| (flag.to_owned(), help))).collect();
    let column = rows.iter().map(|(flag, _)| flag.len()).max().unwrap_or_default();
    let row = |(flag, help): &(String, &str)| {
        let next_line = format!("\n{:1$}", "", column + 4);
        let lines = wrapped(help, WIDTH - column - 4).join(next_line.as_str());
        format!("  {flag:column$}  {lines}\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!("{ABOUT}\n\n{}\n\nOptions:\n{rows}\n{EXAMPLES}\n", usage())
}

pub(super) fn usage() -> String {
    format!("Usage: {NAME} [OPTIONS]")
}

/// Lines of at most `width` bytes, if no word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_lost_and_no_line_too_long() {
        let text = "a folder of rule files; a-very-long-word replaces";
        for width in 1..60 {
            let lines = wrapped(text, width);
            assert_eq!(lines.join(" "), text);
            assert!(lines.iter().all(|line| line.len() <= width || !line.contains(' ')), "{width}: {lines:?}");
        }
    }

    #[test]
    fn it_shows_every_flag_that_is_for_people() {
        let help = help();
        for flag in FLAGS {
            let row = help.lines().find(|line| line.trim_start().starts_with(&format!("{flag} ")));
            let first = flag.help.split(' ').next().unwrap();
            assert_eq!(row.is_some_and(|row| row.contains(first)), !flag.is_hidden, "{flag}\n{help}");
        }
        let (list, _) = help.split_once(EXAMPLES).unwrap();
        assert!(list.lines().all(|line| line.len() <= WIDTH), "{help}");
        for part in [ABOUT, "Usage: nodewelld [OPTIONS]\n", "  -V, --version ", EXAMPLES] {
            assert!(help.contains(part), "{part}");
        }
    }
}
