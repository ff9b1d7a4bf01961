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

/// What is not seen where it stands: Unicode's Default_Ignorable_Code_Point (`DerivedCoreProperties.txt` of 16.0), such
/// as fillers and tags, which spell text that is not seen, but for what [`selects_a_form`]; and the marks of annotations.
fn has_no_width(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// A variation selector: it has no width and picks a form of the character before it, as in emoji, Japanese names and
/// Mongolian. Text keeps it; in a name two that look the same would be two.
#[must_use]
pub fn selects_a_form(sign: char) -> bool {
    matches!(sign, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
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
            '\u{3164}',
            '\u{e0fff}',
        ] {
            assert!(is_hidden(sign) && !selects_a_form(sign), "{sign:?}");
        }
        for sign in ['\u{180b}', '\u{fe0f}', '\u{e0100}'] {
            assert!(!is_hidden(sign) && selects_a_form(sign), "{sign:?}");
        }
    }
}
