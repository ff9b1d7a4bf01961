//! What is not seen in a foreign file is an escape in what is written of it, and means what it did.

use nodewell_printable::is_hidden;

use super::*;

#[test]
fn what_is_hidden_is_written_as_an_escape_and_means_the_same() {
    let rule = "{\"type\": \"permanent\", \"condition\": \"Sick\", \"reason\": \"DriverFailed\", \
                \"pattern\": \"mydrv: \u{202e}gave up [\u{200b}x]\u{e0041}\"}";
    let file = mine(&kernel(rule).text.replace("all is fine", "all \u{202e}is\u{2028} fine\u{85}\u{e0041}."));
    let imported = assert_same(std::slice::from_ref(&file));
    assert_eq!(fates(&imported), [(Fate::Same, "DriverFailed")], "{imported:#?}");
    let text = text_of(&imported, "monitors.d/mine.toml");
    assert!(!text.contains(|sign: char| is_hidden(sign) && sign != '\n'), "{text:?}");
    for part in [
        "healthy-message = \"all \\u202Eis\\u2028 fine\\u0085\\U000E0041.\"\n",
        "pattern = 'mydrv: (?u:\\x{202e})gave up (?u:[\\x{200b}x])(?u:\\x{e0041})\\s*\\z'\n",
        "matches = [\"mydrv: \\u202Egave up x\\U000E0041\"]\n",
    ] {
        assert!(text.contains(part), "no {part} in:\n{text}");
    }
}
