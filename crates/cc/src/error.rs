//! What a caller can get wrong in a configuration.

/// A value of an option that no transport could work with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    #[error("\"{name}\" is not a {what}; use one of {}", .valid.join(", "))]
    UnknownName { what: &'static str, name: String, valid: Vec<&'static str> },
    #[error("{option} = {value} is out of range: {reason}")]
    OutOfRange { option: &'static str, value: String, reason: &'static str },
    /// A name and a part of a TCP that exclude each other.
    #[error(
        "name \"{name}\" stands for {option} \"{wanted}\", but {option} is \"{found}\": drop one of them, \
         or set the whole key, as in --set 'flows[*].tcp={name}'"
    )]
    Contradiction { name: &'static str, option: &'static str, wanted: String, found: String },
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
