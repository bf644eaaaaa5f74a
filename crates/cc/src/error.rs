//! What a caller can get wrong in a configuration.

/// A value of an option that no transport could work with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    #[error("\"{name}\" is no {what}; use one of {}", .valid.join(", "))]
    UnknownName { what: &'static str, name: String, valid: Vec<&'static str> },
    #[error("{option} = {value} is out of range: {reason}")]
    OutOfRange { option: &'static str, value: String, reason: &'static str },
}

impl ConfigError {
    pub fn out_of_range(option: &'static str, value: impl std::fmt::Display, reason: &'static str) -> ConfigError {
        ConfigError::OutOfRange { option, value: value.to_string(), reason }
    }

    /// An error unless `lowest <= value <= highest`.
    pub fn within(
        option: &'static str,
        value: f64,
        range: std::ops::RangeInclusive<f64>,
        reason: &'static str,
    ) -> Result<(), ConfigError> {
        if range.contains(&value) { Ok(()) } else { Err(ConfigError::out_of_range(option, value, reason)) }
    }
}
