//! What a newer version has saved and this one does not understand: it stays in the file, for the way back to that one.

use std::collections::BTreeMap;

use nodewell_model::{Row, Table};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::json;

/// So much of it is held in memory. Rows beyond are left in the file all the same, until all of it is written again.
const LIMIT_BYTES: usize = 1024 * 1024;

/// A version of nodewell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct Version(u32, u32, u32);

/// What is left as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Newer {
    /// The newest version that has written the file, if that is not this one.
    version: Version,
    /// Rows of which nothing is understood.
    rows: BTreeMap<(Table, String), String>,
    /// What is not understood of other rows.
    fields: BTreeMap<(Table, String), Fields>,
    bytes: usize,
}

/// The members of an object that this version does not read as they stand.
type Fields = BTreeMap<String, Unread>;

#[derive(Debug, Clone)]
enum Unread {
    /// `read` is what this version takes it for: nothing, where it does not know the member.
    Value { read: Option<Value>, saved: Value },
    /// Members of an object that it knows.
    Within(Fields),
}

impl Version {
    fn own() -> Self {
        let part = |text: &str| text.parse::<u32>().unwrap_or_default();
        Self(
            part(env!("CARGO_PKG_VERSION_MAJOR")),
            part(env!("CARGO_PKG_VERSION_MINOR")),
            part(env!("CARGO_PKG_VERSION_PATCH")),
        )
    }
}

impl Newer {
    pub(super) fn note_version(&mut self, version: Version) {
        self.version = self.version.max(version);
    }

    /// The newest version that has written the file, this one included.
    pub(super) fn newest(&self) -> Version {
        self.version.max(Version::own())
    }

    /// Whether a newer version has written the file: what only that one declares may come back with it.
    pub(super) fn has_written(&self) -> bool {
        self.version > Version::own()
    }

    /// A row of which nothing is understood.
    pub(super) fn leave(&mut self, table: Table, key: String, value: String) {
        if self.take_room(key.len() + value.len()) {
            self.rows.insert((table, key), value);
        }
    }

    /// Notes what of a row is not in `read`, which was made of it.
    pub(super) fn note<T: Serialize>(&mut self, table: Table, key: &str, value: &str, read: &T) {
        let Some(text) = json(read).filter(|text| text != value) else { return };
        let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
        let Some((saved, read)) = object(value).zip(object(&text)) else { return };
        let fields = unread(&saved, &read);
        if !fields.is_empty() && self.take_room(key.len() + bytes_of(&fields)) {
            self.fields.insert((table, key.to_owned()), fields);
        }
    }

    /// Gives `rows`, which are to be written, what this version does not understand of them. Where it has a row of its
    /// own now, there is none left of another's.
    pub(super) fn complete(&mut self, rows: &mut [Row]) {
        if self.rows.is_empty() && self.fields.is_empty() {
            return;
        }
        for row in rows {
            let key = (row.table, row.key.clone());
            self.rows.remove(&key);
            let Some(fields) = self.fields.get(&key) else { continue };
            match &mut row.value {
                Some(value) => {
                    if let Some(whole) = completed(value, fields) {
                        *value = whole;
                    }
                }
                None => _ = self.fields.remove(&key),
            }
        }
    }

    /// The rows that are left as they are.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        let row = |((table, key), value): (&(Table, String), &String)| Row {
            table: *table,
            key: key.clone(),
            value: Some(value.clone()),
        };
        self.rows.iter().map(row)
    }

    fn take_room(&mut self, bytes: usize) -> bool {
        let has_room = self.bytes + bytes <= LIMIT_BYTES;
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }
}

/// The members of `saved` that are not in `read`, or are others there.
fn unread(saved: &Map<String, Value>, read: &Map<String, Value>) -> Fields {
    let of_member = |(name, saved): (&String, &Value)| {
        let unread = match (saved, read.get(name)) {
            (saved, Some(read)) if saved == read => return None,
            (Value::Object(saved), Some(Value::Object(read))) => Unread::Within(unread(saved, read)),
            (saved, read) => Unread::Value { read: read.cloned(), saved: saved.clone() },
        };
        Some((name.clone(), unread))
    };
    saved.iter().filter_map(of_member).collect()
}

/// What is kept of them.
fn bytes_of(fields: &Fields) -> usize {
    let text = |value: &Value| json(value).map_or(0, |text| text.len());
    let of = |unread: &Unread| match unread {
        Unread::Within(fields) => bytes_of(fields),
        Unread::Value { read, saved } => read.as_ref().map_or(0, text) + text(saved),
    };
    fields.iter().map(|(name, unread)| name.len() + of(unread)).sum()
}

fn completed(value: &str, fields: &Fields) -> Option<String> {
    let mut object: Map<String, Value> = serde_json::from_str(value).ok()?;
    put_back(&mut object, fields);
    json(&object)
}

/// What this version has changed itself stays.
fn put_back(object: &mut Map<String, Value>, fields: &Fields) {
    for (name, unread) in fields {
        match unread {
            Unread::Within(fields) => {
                if let Some(Value::Object(inner)) = object.get_mut(name) {
                    put_back(inner, fields);
                }
            }
            Unread::Value { read, saved } => {
                if object.get(name) == read.as_ref() {
                    object.insert(name.clone(), saved.clone());
                }
            }
        }
    }
}

/// Whether it was written as rows are.
pub(super) fn is_json(value: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok()
}

/// Reads a member that a newer version may write in a way that is not known here: it is the default then.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).unwrap_or_default())
}

/// Reads the elements that are understood.
pub(crate) fn understood<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let elements = Vec::<Value>::deserialize(deserializer)?;
    Ok(elements.into_iter().filter_map(|element| serde_json::from_value(element).ok()).collect())
}
