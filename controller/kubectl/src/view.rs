//! What is shown, as data: made of the facts and a time, and nothing else. `-o json` and `-o yaml` show it as it is;
//! fields are only ever added to it.

pub(crate) mod agent;
pub(crate) mod controller;
pub(crate) mod events;
pub(crate) mod fleet;
pub(crate) mod health;
pub(crate) mod node;
pub(crate) mod remediation;
pub(crate) mod why;
pub(crate) mod words;
