//! `[mounts]`: what arrives, and what is refused.

use nodewell_checks::mounts::{MountsSettings, Threshold};

use super::*;

fn parsed(text: &str) -> Result<MountsSettings, String> {
    read(text).map(|config| config.checks.mounts).map_err(|errors| errors.join("\n"))
}

#[test]
fn every_key_arrives_and_nothing_said_is_the_default() {
    assert_eq!(parsed("[mounts]\n").unwrap(), MountsSettings::default());
    let text = "[mounts]\nenabled = false\ninterval = \"5s\"\ndeadline = \"3s\"\nignore = [\"/scratch*\"]\n\
                space-percent = 95\nspace-clear-percent = 80\nspace-enough-gib = 2\ninodes-percent = 70\n";
    let expected = MountsSettings {
        enabled: false,
        interval: Duration::from_secs(5),
        deadline: Duration::from_secs(3),
        ignore: vec!["/scratch*".to_owned()],
        space: Threshold::new(95, Some(80)),
        space_enough_bytes: 2 << 30,
        inodes: Threshold::new(70, None),
        ..MountsSettings::default()
    };
    assert_eq!(parsed(text).unwrap(), expected);
    assert_eq!(expected.inodes.clear_percent(), 65);
}

#[test]
fn errors_are_reported_with_their_lines() {
    let text = "[mounts]\ndeadline = \"2h\"\nspace-percent = 80\nspace-clear-percent = 80\ninodes-percent = 101\n\
                ignore = [\"a**b\"]\nfull = 1\n";
    let messages = parsed(text).unwrap_err();
    for line in [
        "nodewell.toml:2: ",
        "nodewell.toml:4: \"space-clear-percent\" has to be below",
        "nodewell.toml:5: ",
        "nodewell.toml:6: ",
        "nodewell.toml:7: ",
    ] {
        assert!(messages.contains(line), "{line} in {messages}");
    }
}

#[test]
fn files_that_do_not_fit_together_leave_a_gap() {
    let both = read_all(&["[mounts]\nspace-clear-percent = 80\n", "[mounts]\nspace-percent = 70\n"]).unwrap();
    let space = both.checks.mounts.space;
    assert_eq!((space.percent, space.clear_percent()), (70, 69));
}
