//! `[clock]`: what arrives, and what is refused.

use nodewell_checks::clock::ClockSettings;

use super::*;

fn parsed(text: &str) -> Result<ClockSettings, String> {
    read(text).map(|config| config.checks.clock).map_err(|errors| errors.join("\n"))
}

#[test]
fn every_key_arrives_and_nothing_said_is_the_default() {
    assert_eq!(parsed("[clock]\n").unwrap(), ClockSettings::default());
    let text = "[clock]\nenabled = false\ninterval = \"5s\"\nrequired = true\nunsynchronised-after = \"1h\"\n\
                offset = \"20ms\"\nstep = \"5s\"\n";
    let clock = parsed(text).unwrap();
    assert_eq!((clock.enabled, clock.required), (false, true));
    let times = [clock.interval, clock.unsynchronised_after, clock.offset, clock.offset_clear(), clock.step];
    assert_eq!(times.map(|time| time.as_millis()), [5_000, 3_600_000, 20, 10, 5_000]);
}

#[test]
fn errors_are_reported_with_their_lines() {
    let text =
        "[clock]\noffset = \"1m\"\noffset-clear = \"2m\"\nunsynchronised-after = \"200h\"\nstep = \"1ms\"\nntp = 1\n";
    let messages = parsed(text).unwrap_err();
    for line in 2..=6 {
        assert!(messages.contains(&format!("nodewell.toml:{line}: ")), "{line} in {messages}");
    }
}
