//! Faults and Events of the inventory, in words.

use jiff::Timestamp;
use nodewell_message::MessageArgs;
use nodewell_model::{
    inventory::{Component, ComponentClass},
    text::cut,
};

use super::{Change, Known};
use crate::probe::{DeviceEvent, Fault};

/// Of one component in a message: a message of ours has 256 bytes.
const SHOWN_BYTES: usize = 96;

/// What is missing; `now` is what there still is of an amount.
pub(super) fn fault(class: ComponentClass, known: &Known, now: Option<u64>) -> Fault {
    let seen = known.last_seen.strftime("%F %H:%M UTC").to_string();
    let before = amount(class, known.component.amount);
    let now = now.map_or_else(|| "unknown".to_owned(), |now| amount(class, now));
    let what = shown(class, &known.component);
    let args: MessageArgs<'_> = &[("what", &what), ("seen", &seen)];
    match class {
        ComponentClass::Memory => Fault::of("MemoryMissing", &[("now", &now), ("before", &before)]),
        ComponentClass::Cpu => Fault::of("CpuMissing", &[("now", &now), ("before", &before)]),
        ComponentClass::MemoryModule => Fault::of("MemoryModuleMissing", args),
        ComponentClass::Disk => Fault::of("DiskMissing", args),
        ComponentClass::NetworkCard => Fault::of("NetworkCardMissing", args),
        ComponentClass::Accelerator => Fault::of("AcceleratorMissing", args),
    }
}

pub(super) fn changed(class: ComponentClass, change: &Change, time: Timestamp) -> DeviceEvent {
    match change {
        Change::Added(new) => {
            let what = shown(class, new);
            DeviceEvent::of("HardwareAdded", &new.name(class), &[("what", &what)], time)
        }
        Change::Replaced { old, new } => {
            let (old_shown, new_shown) = (shown(class, old), shown(class, new));
            let args: MessageArgs<'_> = &[("old", &old_shown), ("new", &new_shown)];
            DeviceEvent::of("HardwareReplaced", &old.name(class), args, time)
        }
        Change::Grown { from, to } => {
            let (from, to) = (amount(class, *from), amount(class, *to));
            let args: MessageArgs<'_> = &[("from", &from), ("to", &to)];
            DeviceEvent::of("HardwareAdded/grown", class.as_str(), args, time)
        }
    }
}

/// `16.0 GiB`, `64`
fn amount(class: ComponentClass, amount: u64) -> String {
    match class {
        ComponentClass::Cpu => amount.to_string(),
        _ if amount < 1024 => format!("{amount} MiB"),
        _ => format!("{}.{} GiB", amount / 1024, amount % 1024 * 10 / 1024),
    }
}

/// `Samsung SSD 980, serial S3X1, at 0000:01:00.0`: its name stands before the message.
fn shown(class: ComponentClass, component: &Component) -> String {
    let size = (component.amount > 0).then(|| amount(class, component.amount));
    let serial = (!component.serial.is_empty()).then(|| format!("serial {}", component.serial));
    let slot = (!component.slot.is_empty()).then(|| format!("at {}", component.slot));
    let model = Some(component.model.clone()).filter(|model| !model.is_empty());
    let parts: Vec<String> = [model, size, serial, slot].into_iter().flatten().collect();
    if parts.is_empty() { class.as_str().to_owned() } else { cut(&parts.join(", "), SHOWN_BYTES).to_owned() }
}
