//! The fields of one such line: `RLW_REMAP Nonfatal XC1 i0 Link 12 (0x04098082 0x00000004 …)`.

/// What a link's unit reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    pub unit: &'a str,
    /// As the line states it.
    pub is_fatal: bool,
    /// -1 is the chip as a whole.
    pub link: Option<i32>,
    /// The interrupt's information.
    pub info: Option<u32>,
    /// The error status.
    pub status: Option<u32>,
}

impl<'a> Report<'a> {
    /// Reads what follows the Xid's code. A process may stand before it, with any name: what is followed by the
    /// crossbar's number is the report.
    pub(crate) fn parse(rest: &'a str) -> Option<Self> {
        let words: Vec<&str> = rest.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let followed = |at: usize| words.get(at + 1).is_some_and(|next| next.starts_with("XC"));
        let reported = |at: &usize| fatality(words[*at]).is_some();
        let known = || (0..words.len()).filter(reported);
        let at = known().rfind(|at| followed(*at)).or_else(|| known().next_back())?;
        let before = |back: usize| at.checked_sub(back).map(|at| words[at]);
        // `Link Fatal` is the catalogue's own term for what takes the link with it.
        let unit = before(1).filter(|word| *word != "Link").or_else(|| before(2)).filter(|word| is_unit(word))?;
        let after = &words[at + 1..];
        let link = after.iter().position(|word| *word == "Link").and_then(|at| after.get(at + 1)?.parse().ok());
        let bracket = after.iter().position(|word| word.starts_with('('));
        let number = |place: usize| hexadecimal(after.get(bracket? + place)?);
        Some(Self { unit, is_fatal: fatality(words[at])?, link, info: number(0), status: number(1) })
    }
}

/// Which of several kinds of a link's event it is.
pub(super) fn subcode(info: u32) -> u32 {
    (info >> 20) & 0x3f
}

fn fatality(word: &str) -> Option<bool> {
    match word {
        "Fatal" => Some(true),
        "Nonfatal" | "NonFatal" | "Non-fatal" | "Non-Fatal" => Some(false),
        _ => None,
    }
}

fn is_unit(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn hexadecimal(word: &str) -> Option<u32> {
    let digits = word.trim_start_matches('(').trim_end_matches(')').strip_prefix("0x")?;
    u32::from_str_radix(digits, 16).ok()
}
