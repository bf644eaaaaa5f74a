//! Errors of a configuration.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// A parameter of a discipline that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{option} = {value} is out of range: {reason}")]
#[non_exhaustive]
pub struct ConfigError {
    pub option: &'static str,
    pub value: String,
    pub reason: String,
}

impl ConfigError {
    pub fn new(option: &'static str, value: impl Display, reason: impl Into<String>) -> ConfigError {
        ConfigError { option, value: value.to_string(), reason: reason.into() }
    }
}

/// An error unless `value` is in `range`.
pub fn within<T: PartialOrd + Display>(
    option: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    let reason = format!("it must be {} to {}", range.start(), range.end());
    Err(ConfigError::new(option, value, reason))
}
