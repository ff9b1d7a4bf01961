//! The numbers that journald gives its entries, as cursors have them (`sd_journal_get_cursor(3)`): what is missing between two.

/// How many entries lay between the two of these cursors, of any journal file of their journald; `None` where the
/// numbers cannot show it: another journald's, or another numbering.
pub(crate) fn between(before: &str, after: &str) -> Option<u64> {
    let (before, after) = (Number::of(before)?, Number::of(after)?);
    if before.series != after.series {
        return None;
    }
    after.number.checked_sub(before.number)?.checked_sub(1)
}

struct Number<'a> {
    /// Begins again with each numbering.
    series: &'a str,
    number: u64,
}

impl<'a> Number<'a> {
    fn of(cursor: &'a str) -> Option<Self> {
        let part = |name: &str| cursor.split(';').find_map(|part| part.strip_prefix(name));
        Some(Self { series: part("s=")?, number: u64::from_str_radix(part("i=")?, 16).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(series: &str, number: &str) -> String {
        format!(
            "s={series};i={number};b=4c36f65d69fe4e0e9758d718e5c36df1;m=5972f96f9;t=660c5a54e74b4;x=b8e5bd398ca9fc89"
        )
    }

    #[test]
    fn numbers_of_one_journald_follow_each_other() {
        assert_eq!(between(&cursor("a1", "f"), &cursor("a1", "10")), Some(0));
        assert_eq!(between(&cursor("a1", "f"), &cursor("a1", "1f")), Some(15));
    }

    #[test]
    fn other_numberings_show_nothing() {
        assert_eq!(between(&cursor("a1", "f"), &cursor("a2", "10")), None);
        assert_eq!(between(&cursor("a1", "f"), &cursor("a1", "f")), None);
        assert_eq!(between(&cursor("a1", "f"), "nonsense"), None);
        assert_eq!(between(&cursor("a1", "g"), &cursor("a1", "10")), None);
    }
}
