//! A line of the status: what the agent goes by, to compare it with another node.

use nodewell_model::view::ConfigurationView;
use nodewell_time::age;

use super::{
    super::flow::{Layout, Piece, flow},
    Extent, Table,
};

const TITLE: &str = "Configuration: ";
/// Enough for people to see that two differ; `-o wide` and JSON have all.
const SHORT_DIGITS: usize = 12;

pub(super) fn line(table: &Table<'_>) -> String {
    let Some(configuration) = table.view.configuration.as_deref().filter(|_| table.shows_all()) else {
        return String::new();
    };
    let ConfigurationView { hash, rules_hash, loaded } = configuration;
    let pieces = [
        shown(hash, table.extent).to_owned(),
        format!("rules: {}", shown(rules_hash, table.extent)),
        format!("taken {} ago", age(*loaded, table.now)),
    ];
    let layout = Layout { first: TITLE.len(), indent: 2, separator: ", " };
    format!("{TITLE}{}\n", flow(&pieces.map(|text| Piece::new(&text)), layout, table.look))
}

fn shown(hash: &str, extent: Extent) -> &str {
    if extent == Extent::Wide {
        return hash;
    }
    let digits = hash.split_once(':').map_or(hash, |(_, digits)| digits);
    digits.get(..SHORT_DIGITS).unwrap_or(digits)
}
