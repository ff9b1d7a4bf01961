//! Which characters of text from outside are shown.
//!
//! Control characters drive a terminal. Others change how the text around them is read and are not seen: they turn the
//! direction of writing, have no width, or end a line for some programs and not for others. With them a message shows
//! as another one, or a name looks like another name (Unicode Technical Report 36; CVE-2021-42574).

/// Not shown as itself: a control character, or one that hides or reorders others.
#[must_use]
pub fn is_hidden(sign: char) -> bool {
    sign.is_control() || reorders(sign) || has_no_width(sign) || ends_a_line(sign)
}

/// The explicit marks of the bidirectional algorithm (Unicode Standard Annex 9, 2).
fn reorders(sign: char) -> bool {
    matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Format characters (general category Cf) and blank ones of no width; tags (U+E0001 to U+E007F) spell text that is not
/// seen.
fn has_no_width(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}'
    )
}

/// Line and paragraph separators; U+0085 is a control character.
fn ends_a_line(sign: char) -> bool {
    matches!(sign, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_and_what_changes_how_it_is_read_is_not() {
        for sign in ['a', ' ', '~', 'ä', '°', 'א', 'ع', '中', '…', '\u{fffd}', '😀'] {
            assert!(!is_hidden(sign), "{sign:?}");
        }
        for sign in [
            '\0',
            '\n',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{ad}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{202e}',
            '\u{2028}',
            '\u{2029}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert!(is_hidden(sign), "{sign:?}");
        }
    }
}
