//! Makes an agent's output fit to be shown: without secrets, in one line, not too long.

/// A line of a journal, an Event, a record's log.
const LIMIT_CHARS: usize = 400;
const REMOVED: &str = "[removed]";
/// A password as short as this would have its letters removed everywhere, which reveals it.
const SHORT_BYTES: usize = 4;

/// The end of `text`, which is where agents report what is wrong. `cut` means that more was written than is here: its
/// end may be the beginning of a secret then, and is left out.
#[must_use]
pub fn scrub(text: &str, cut: bool, secrets: &[String]) -> String {
    let given: Vec<&str> = secrets.iter().map(|secret| secret.trim()).filter(|secret| !secret.is_empty()).collect();
    if given.iter().any(|secret| secret.len() < SHORT_BYTES) {
        return "(not shown: a secret is too short to be removed for certain)".to_owned();
    }
    let mut text = text.to_owned();
    // Longest first: one may have another in it.
    let mut given = given;
    given.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    given.iter().for_each(|secret| text = text.replace(secret, REMOVED));
    if cut {
        let longest = given.first().map_or(0, |secret| secret.chars().count());
        let certain = text.chars().count().saturating_sub(longest);
        text = text.chars().take(certain).collect();
    }
    end_in_one_line(&text)
}

fn end_in_one_line(text: &str) -> String {
    let clean = |letter: char| if nodewell_printable::is_hidden(letter) { ' ' } else { letter };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line: String = lines.collect::<Vec<_>>().join("; ").chars().map(clean).collect();
    let skipped = line.chars().count().saturating_sub(LIMIT_CHARS);
    line.chars().skip(skipped).collect()
}
