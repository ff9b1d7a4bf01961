//! nodewelld
fn main() {}
