//! nodewell
fn main() {}
