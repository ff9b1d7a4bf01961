//! docs/reference/rules.md: every key of rule files, as their reader declares it.

use nodewell_rules::native::{RuleKey, RuleTable, TABLES};

use crate::{
    markdown::{code, prose},
    settings::{default, item},
};

const HEAD: &str = "# Rule files: every key\n\n\
    **For:** people who write rules and plug-ins.\\\n\
    **Afterwards:** you know each table's keys, what each takes, and what holds without it.\n\n\
    `nodewell-pages rules` writes this page from the keys as their reader declares them. [Rule files](../rule-files.md)\n\
    says what a `proof`, a `check` and an exit status mean; the tasks are [Write a rule](../rules.md) and\n\
    [Run plug-ins](../plugins.md).\n";

/// The page.
pub(crate) fn page() -> String {
    let chapters: String = TABLES.iter().map(chapter).collect();
    format!("{HEAD}{chapters}")
}

fn chapter(table: &RuleTable) -> String {
    let keys: String = table.keys.iter().map(line).collect();
    format!("\n## {}\n{}\n\n{keys}", code(table.name), prose(table.about))
}

fn line(key: &RuleKey) -> String {
    let without = if key.is_required { "required".to_owned() } else { default(key.usual().as_deref()) };
    item(key.name, &prose(key.help), &prose(&key.takes()), &without)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMITTED: &str = include_str!("../../../docs/reference/rules.md");

    #[test]
    fn each_key_has_sentences_of_its_own() {
        for key in TABLES.iter().flat_map(|table| table.keys) {
            assert!(key.help.ends_with('.') && !key.takes().ends_with('.'), "{}: {}", key.name, key.help);
        }
    }

    #[test]
    fn the_page_is_what_the_reader_declares() {
        let made = page();
        let first = made.lines().zip(COMMITTED.lines()).find(|(made, committed)| made != committed);
        assert!(made == COMMITTED, "run: cargo run -p nodewell-pages rules >docs/reference/rules.md\n{first:?}");
    }
}
