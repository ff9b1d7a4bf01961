//! What disks count about themselves: ATA's SMART attributes and the fields of NVMe's health page.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const ATTRIBUTES: &str = include_str!("../tables/smart.toml");
const FIELDS: &str = include_str!("../tables/nvme.toml");

/// One SMART attribute, as most vendors mean it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    pub id: u8,
    pub name: String,
    pub kind: Kind,
    pub meaning: String,
    /// What it means when the raw value grows.
    pub rising: String,
    /// Whose disks mean something else; may be empty.
    #[serde(default)]
    pub caveat: String,
}

/// What an attribute is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Growth announces a failing disk.
    Failure,
    /// The rated life.
    Wear,
    /// Cable, backplane, power.
    Link,
    /// Heat, shocks, power.
    Environment,
    /// Only a count.
    Usage,
    /// Means something only with the vendor's own notes.
    Vendor,
}

/// One field of NVMe's health page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The first is the field's own.
    pub names: Vec<String>,
    pub meaning: String,
    pub rising: String,
    /// The reasons of the disk monitor that come of it.
    pub reasons: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attributes {
    attribute: Vec<Attribute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    field: Vec<Field>,
}

/// All attributes, by their number.
///
/// # Panics
/// If the table is not one: a bug that tests find.
#[must_use]
pub fn attributes() -> &'static [Attribute] {
    static ALL: LazyLock<Vec<Attribute>> =
        LazyLock::new(|| toml::from_str::<Attributes>(ATTRIBUTES).expect("the shipped table is sound").attribute);
    &ALL
}

/// The attribute of that number.
#[must_use]
pub fn attribute(id: u8) -> Option<&'static Attribute> {
    attributes().iter().find(|attribute| attribute.id == id)
}

/// All fields of NVMe's health page.
///
/// # Panics
/// If the table is not one: a bug that tests find.
#[must_use]
pub fn fields() -> &'static [Field] {
    static ALL: LazyLock<Vec<Field>> =
        LazyLock::new(|| toml::from_str::<Fields>(FIELDS).expect("the shipped table is sound").field);
    &ALL
}

/// The field of that name.
#[must_use]
pub fn field(name: &str) -> Option<&'static Field> {
    fields().iter().find(|field| field.names.iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_in_order_and_each_stands_once() {
        let ids: Vec<u8> = attributes().iter().map(|attribute| attribute.id).collect();
        assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
        assert_eq!(attribute(197).unwrap().name, "PendingSectors");
        assert_eq!(attribute(199).unwrap().kind, Kind::Link);
        assert_eq!(attribute(255), None);
    }

    #[test]
    fn fields_are_found_by_any_of_their_names() {
        assert_eq!(field("critical-warning"), field("critical_warning"));
        assert_eq!(field("spare").unwrap().names[0], "available-spare");
        assert_eq!(field(""), None);
    }
}
