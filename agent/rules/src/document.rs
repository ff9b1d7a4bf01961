//! Reading TOML so that every error is reported with its line: for rule files here, and for the agent's config.

pub use toml::de::DeTable;

pub use crate::{
    native::{
        section::{Section, StringAt, TableAt},
        tables,
    },
    report::Report,
};
