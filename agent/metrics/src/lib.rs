//! Prometheus, text format 0.0.4: its text, written here (the OpenMetrics libraries rename a counter to `…_total`, and
//! dashboards made for Node Problem Detector or node-reaper would show nothing), and the server that hands it out.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod exposition;
mod metric;
mod server;

pub use exposition::{Exposition, Number};
pub use metric::{Metric, MetricType};
pub use server::{TEXT, answer, bind, bind_later, serve};
