//! What is known of a pattern before it is first tried. A table has it for the shipped patterns, so that a start parses
//! none of them.

mod table;

use regex_syntax::hir::{Hir, HirKind, Look};

use super::{
    literal::{self, Scope, Window},
    opening::Opening,
    steps::GROUPS,
};

/// What a text must have for the pattern to match it, and which groups a match sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    /// The rule looks at several lines, and a match may hold a newline.
    pub(super) is_multi_line: bool,
    /// It looks at the start of the text somewhere.
    pub(super) is_anchored: bool,
    /// The first two bytes of the text.
    pub(super) opening: Opening,
    /// The numbers of the groups `subject`, `pid` and `pod`: a pattern is too short for more than fit.
    pub(super) groups: [Option<u16>; GROUPS],
    /// Every match holds one of these; nothing: every record has to be tried.
    pub(super) windows: Option<Vec<Window>>,
}

impl Outline {
    /// Of a shipped pattern, for a rule that looks at so many lines; nothing of any other pattern.
    pub(super) fn shipped(pattern: &str, lines: usize) -> Option<Self> {
        table::find(table::SHIPPED, pattern, lines)
    }

    /// By the pattern's syntax tree, for a rule that looks at so many lines.
    pub(super) fn of(hir: &Hir, lines: usize) -> Self {
        let is_multi_line = lines > 1 && literal::can_match_newline(hir);
        let scope = if is_multi_line { Scope::LastLine } else { Scope::Match };
        Self {
            is_multi_line,
            is_anchored: hir.properties().look_set().contains(Look::Start),
            opening: Opening::of(hir),
            groups: ["subject", "pid", "pod"].map(|name| group(hir, name)),
            windows: literal::required(hir, scope).map(|required| required.windows),
        }
    }
}

/// The number of the capture group `name`.
fn group(hir: &Hir, name: &str) -> Option<u16> {
    match hir.kind() {
        HirKind::Capture(capture) if capture.name.as_deref() == Some(name) => u16::try_from(capture.index).ok(),
        _ => hir.kind().subs().iter().find_map(|sub| group(sub, name)),
    }
}
