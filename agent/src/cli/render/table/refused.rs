//! The last block of the status: which clients tried to report, clear or inject, and may not.

use nodewell_model::view::RefusedView;
use nodewell_time::age;

use super::{
    super::{
        flow::{Layout, Piece, flow, paragraph},
        look::{Paint, columns, one_line, pad},
    },
    GAP, Table,
};

pub(super) fn block(table: &Table<'_>) -> String {
    let refused = &table.view.refused;
    if refused.is_empty() {
        return String::new();
    }
    let room = table.look.room_beside(2 + GAP.len());
    let width = refused.iter().map(|one| columns(&one_line(&one.peer))).max().unwrap_or_default().min(room);
    let rows: String = refused.iter().map(|one| row(one, width, table)).collect();
    format!("{}{rows}", paragraph("Refused on the socket:", 0, table.look))
}

fn row(refused: &RefusedView, width: usize, table: &Table<'_>) -> String {
    let RefusedView { peer, source, count, last, why } = refused;
    let peer = pad(&table.look.fit(peer, width), width);
    let source = (!source.is_empty()).then(|| format!("as {source}"));
    let times = format!("{}{count}", table.look.sign("×", "x"));
    let head = [source, Some(times), Some(format!("{} ago", age(*last, table.now)))];
    let mut pieces: Vec<Piece> = head.into_iter().flatten().map(|text| Piece::painted(Paint::Warning, &text)).collect();
    pieces.push(Piece::new(why));
    let layout = Layout { first: 2 + columns(&peer) + GAP.len(), indent: 4, separator: GAP };
    format!("  {}{GAP}{}\n", table.look.paint(Paint::Warning, &peer), flow(&pieces, layout, table.look))
}
