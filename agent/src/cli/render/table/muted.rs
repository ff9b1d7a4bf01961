//! A block of the status: what people muted, whether there is such a problem now or not.

use nodewell_model::Mute;

use super::{
    super::{
        flow::{Layout, Piece, flow, paragraph},
        look::one_line,
    },
    GAP, Table,
};

pub(super) fn block(table: &Table<'_>) -> String {
    let mutes = &table.view.mutes;
    if mutes.is_empty() {
        return String::new();
    }
    let rows: String = mutes.iter().map(|mute| row(mute, table)).collect();
    format!("{}{rows}", paragraph("Muted:", 0, table.look))
}

fn row(mute: &Mute, table: &Table<'_>) -> String {
    let pieces = [mute.key.whole(), format!("until {}", mute.until), format!("by {}: {}", mute.by, mute.why)];
    let pieces: Vec<Piece> = pieces.iter().map(|text| Piece::new(&one_line(text))).collect();
    format!("  {}\n", flow(&pieces, Layout { first: 2, indent: 4, separator: GAP }, table.look))
}
