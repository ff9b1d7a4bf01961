//! docs/reference/messages.md: every message that a condition or an Event may have, from the programs' own catalogues.

use nodewell_faults::reason;
use nodewell_message::Entry;

const HEAD: &str = "# Messages\n\n\
    Every message that the agent writes into a NodeCondition or an Event by itself, with example figures: what stands in\n\
    place of `97` is the node's own. A condition's message has the subject (a device, a mount point) before it. Messages\n\
    of rules of the kernel log are the log's own lines; those of plug-ins and daemons are theirs. A message is one line of at\n\
    most 256 bytes. `nodewell explain REASON` says what a reason means and what to do.\n";

/// The page.
pub(crate) fn page() -> String {
    let rows = nodewell_faults::messages().entries().map(row).collect::<String>();
    format!("{HEAD}\n| reason | condition | severity | message |\n|---|---|---|---|\n{rows}")
}

fn row(entry: &Entry) -> String {
    let (name, variant) = entry.key.split_once('/').unwrap_or((&entry.key, ""));
    let shown = entry.shown().replace('|', "\\|");
    match reason::named(name).filter(|_| !variant.starts_with("healthy")) {
        Some(reason) => {
            let condition = reason.condition.as_ref().map_or("(Event)", |condition| condition.as_str());
            format!("| `{name}` | {condition} | {} | {shown} |\n", reason.severity)
        }
        None if variant.starts_with("healthy") => format!("| (healthy) | {name} | | {shown} |\n"),
        None => format!("| `{name}` | | | {shown} |\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../docs/reference/messages.md");

    #[test]
    fn the_page_is_that_of_the_catalogues() {
        let made = page();
        let first = made.lines().zip(SHIPPED.lines()).find(|(made, shipped)| made != shipped);
        assert!(made == SHIPPED, "run: cargo run -p nodewell-pages messages >docs/reference/messages.md\n{first:?}");
    }
}
