//! Devices and facts about the host in the table.

use super::*;

pub(super) fn class(class: &str, total: u32, states: &[(&str, u32)]) -> HardwareView {
    let bad: u32 = states.iter().map(|(_, count)| count).sum();
    let states = states.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect();
    HardwareView {
        class: class.to_owned(),
        total,
        healthy: total - bad,
        states,
        unconfirmed_since: None,
        informational: false,
        devices: Vec::new(),
    }
}

#[test]
fn devices_have_a_line_for_each_class() {
    let mut view = sick();
    view.hardware = vec![
        class("disks", 4, &[]),
        class("GPUs", 8, &[("lost", 1)]),
        class("memory modules", 16, &[("failing", 2), ("not answering", 14)]),
        HardwareView { unconfirmed_since: Some(at(300)), ..class("ports", 0, &[]) },
    ];
    let expected = "
Hardware:
   4 disks           ok
   8 GPUs            1 lost, 7 ok
  16 memory modules  2 failing, 14 not answering
   0 ports           none  unconfirmed for 5m

Monitors that do not see everything:
";
    let shown = of(&view, Extent::All, at(0), &Look::PLAIN);
    assert!(shown.contains(expected), "{shown}");
    let folded = table(&view, at(0), &Look::PLAIN);
    assert!(folded.contains(&expected.replace("   4 disks           ok\n", "")), "{folded}");
    assert!(folded.contains("\nHealthy: 1 condition, 4 disks ("), "{folded}");
    let narrow = table(&view, at(0), &Look { width: Some(40), unicode: false, ..Look::PLAIN });
    assert!(narrow.contains("\n  16 memory modules  2 failing, 14 not\n     answering\n"), "{narrow}");
    let colours = of(&view, Extent::All, at(0), &Look { colours: true, ..Look::PLAIN });
    assert!(colours.contains("\x1b[32mok\x1b[0m") && colours.contains("\x1b[1;31m1 lost, 7 ok\x1b[0m"));
}
