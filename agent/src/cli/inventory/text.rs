//! The inventory as people read it: what is missing first, then what is there, then what the node runs.

use jiff::Timestamp;
use nodewell_model::inventory::{ComponentClass, ComponentView, InventoryView, NodeFacts};

use crate::cli::render::{Look, Paint};

/// A table without lines; a terminal that is too narrow wraps it.
pub(super) fn text(view: &InventoryView, look: &Look) -> String {
    let mut text = String::new();
    let missing: Vec<[String; 4]> = view.missing().map(row).collect();
    if !missing.is_empty() {
        text += &format!("{}\n", look.paint(Paint::Bad, "Missing since an earlier boot:"));
        text += &table(&missing);
        text += "Taken out on purpose: nodewell inventory accept\n\n";
    }
    text += &table(&view.components.iter().filter(|one| !one.missing).map(row).collect::<Vec<_>>());
    if view.is_virtual {
        text += "A virtual machine: its disks, network cards and accelerators are not compared.\n";
    }
    let facts = facts(&view.facts);
    if facts.is_empty() { text } else { format!("{text}\n{facts}") }
}

/// Name, what it is, where it is, and when it was seen.
fn row(view: &ComponentView) -> [String; 4] {
    let ComponentView { class, name, component, last_seen, accepted, .. } = view;
    let size = (component.amount > 0).then(|| amount(*class, component.amount));
    let size = match accepted {
        Some(accepted) => Some(format!("{} of {}", size.unwrap_or_default(), amount(*class, *accepted))),
        None => size,
    };
    let named =
        |what: &str, word: &String| Some(word).filter(|word| !word.is_empty()).map(|word| format!("{what} {word}"));
    let (driver, firmware) = (named("driver", &component.driver), named("firmware", &component.firmware));
    let model = Some(component.model.clone()).filter(|model| !model.is_empty());
    let what: Vec<String> = [size, model, driver, firmware].into_iter().flatten().collect();
    let other = if name.ends_with(&component.slot) { &component.serial } else { &component.slot };
    let seen = last_seen.map(|time| format!("last seen {}", minute(time))).unwrap_or_default();
    [name.clone(), what.join(", "), other.clone(), seen]
}

fn minute(time: Timestamp) -> String {
    time.strftime("%F %H:%M UTC").to_string()
}

fn amount(class: ComponentClass, amount: u64) -> String {
    match class {
        ComponentClass::Cpu => amount.to_string(),
        _ if amount < 1024 => format!("{amount} MiB"),
        _ => format!("{}.{} GiB", amount / 1024, amount % 1024 * 10 / 1024),
    }
}

/// Columns as wide as their longest word.
fn table(rows: &[[String; 4]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..4).map(width).collect();
    let line = |row: &[String; 4]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn facts(facts: &NodeFacts) -> String {
    let bios = format!("{} {} {}", facts.bios_vendor, facts.bios_version, facts.bios_date);
    let rows = [
        ("machine", facts.product.as_str()),
        ("firmware", bios.trim()),
        ("microcode", facts.microcode.as_str()),
        ("kernel", facts.kernel.as_str()),
        ("NVIDIA driver", facts.nvidia_driver.as_str()),
    ];
    let known = rows.into_iter().filter(|(_, value)| !value.is_empty());
    known.map(|(name, value)| format!("  {name:<13}  {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use nodewell_model::inventory::Component;

    use super::*;

    fn component(class: ComponentClass, words: [&str; 3], amount: u64) -> ComponentView {
        let [serial, slot, model] = words.map(str::to_owned);
        let component = Component { serial, slot, model, amount, ..Component::default() };
        let name = component.name(class);
        ComponentView { class, name, component, missing: false, last_seen: None, accepted: None }
    }

    #[test]
    fn what_is_missing_comes_first() {
        let memory = component(ComponentClass::Memory, [""; 3], 15 * 1024);
        let memory = ComponentView {
            missing: true,
            accepted: Some(31 * 1024),
            last_seen: Some(Timestamp::UNIX_EPOCH),
            ..memory
        };
        let disk = component(ComponentClass::Disk, ["S1", "0000:01:00.0", "SSD 980"], 0);
        let mut card = component(ComponentClass::NetworkCard, ["02:00:00:00:00:01", "0000:3b:00.0", "15b3:1021"], 0);
        card.component.driver = "mlx5_core".to_owned();
        let facts = NodeFacts { kernel: "6.12.9".to_owned(), ..NodeFacts::default() };
        let view = InventoryView { components: vec![memory, disk, card], facts, ..InventoryView::default() };
        let expected = "\
Missing since an earlier boot:
  memory  15.0 GiB of 31.0 GiB    last seen 1970-01-01 00:00 UTC
Taken out on purpose: nodewell inventory accept

  disk S1                    SSD 980                      0000:01:00.0
  network card 0000:3b:00.0  15b3:1021, driver mlx5_core  02:00:00:00:00:01

  kernel         6.12.9
";
        assert_eq!(text(&view, &Look::PLAIN), expected);
    }
}
