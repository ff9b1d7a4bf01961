//! Whole numbers.

use std::ops::RangeInclusive;

use crate::{Kind, Report, Schema, Section};

/// A whole number.
pub struct Number(pub RangeInclusive<u32>);

/// The same, of things in memory.
pub struct Count(pub RangeInclusive<u32>);

impl Kind for Number {
    type Of = u32;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<u32> {
        section.number(key, self.0.clone(), report)
    }

    fn shown(&self, value: &u32) -> Option<String> {
        Some(value.to_string())
    }

    fn takes(&self) -> String {
        format!("a number from {} to {}", self.0.start(), self.0.end())
    }

    fn schema(&self) -> Schema {
        Schema::Number(self.0.clone())
    }
}

impl Kind for Count {
    type Of = usize;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<usize> {
        Some(section.number(key, self.0.clone(), report)? as usize)
    }

    fn shown(&self, value: &usize) -> Option<String> {
        Some(value.to_string())
    }

    fn takes(&self) -> String {
        Number(self.0.clone()).takes()
    }

    fn schema(&self) -> Schema {
        Number(self.0.clone()).schema()
    }
}
