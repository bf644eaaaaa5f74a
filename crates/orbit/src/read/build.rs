//! From the keywords of an orbit mean-elements message to elements.

use super::problem::excerpt;
use super::{ElementError, ElementPlace, ElementSet};
use crate::{MeanElements, Utc};
use skyhop_base::Angle;

/// Keywords and values of one message.
#[derive(Default)]
pub(super) struct Message {
    fields: Vec<(String, String)>,
}

impl Message {
    pub fn push(&mut self, key: &str, value: &str) {
        self.fields.push((key.trim().to_ascii_uppercase(), value.trim().to_owned()));
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The value of a keyword, unless it is empty.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub fn name(&self) -> Option<String> {
        self.get("OBJECT_NAME").map(str::to_owned)
    }

    fn required(&self, key: &'static str) -> Result<&str, ElementError> {
        self.get(key).ok_or(ElementError::Missing { key })
    }

    fn number(&self, key: &'static str) -> Result<f64, ElementError> {
        let text = self.required(key)?;
        // Rust would take "inf" and "nan" as numbers.
        let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
        value.ok_or_else(|| ElementError::Field { key, what: "number", text: excerpt(text) })
    }

    fn angle(&self, key: &'static str) -> Result<Angle, ElementError> {
        self.number(key).map(Angle::from_degrees)
    }

    /// A keyword that may be absent must have one of these values where it is there.
    fn only(&self, key: &'static str, values: &[&str], valid: &'static str) -> Result<(), ElementError> {
        match self.get(key) {
            Some(text) if !values.iter().any(|value| value.eq_ignore_ascii_case(text)) => {
                Err(ElementError::Unsupported { key, text: excerpt(text), valid })
            }
            _ => Ok(()),
        }
    }

    pub fn elements(&self, place: ElementPlace) -> Result<ElementSet, ElementError> {
        self.only("CENTER_NAME", &["EARTH"], "EARTH")?;
        self.only("REF_FRAME", &["TEME"], "TEME")?;
        self.only("TIME_SYSTEM", &["UTC"], "UTC")?;
        self.only("MEAN_ELEMENT_THEORY", &["SGP4", "SGP/SGP4", "SGP", "SDP4"], "SGP4")?;
        if self.get("EPHEMERIS_TYPE").is_some_and(|text| text == "4") {
            return Err(ElementError::Sgp4Xp);
        }
        let number = self.required("NORAD_CAT_ID")?;
        let digits = number.bytes().all(|b| b.is_ascii_digit()) && number.len() <= 9;
        let catalogue_number = digits.then(|| number.parse().ok()).flatten().ok_or_else(|| ElementError::Field {
            key: "NORAD_CAT_ID",
            what: "catalogue number of up to nine digits",
            text: excerpt(number),
        })?;
        let epoch = self.required("EPOCH")?;
        let elements = MeanElements {
            catalogue_number,
            epoch: epoch.parse::<Utc>()?,
            mean_motion: self.number("MEAN_MOTION")?,
            eccentricity: self.number("ECCENTRICITY")?,
            inclination: self.angle("INCLINATION")?,
            raan: self.angle("RA_OF_ASC_NODE")?,
            argument_of_perigee: self.angle("ARG_OF_PERICENTER")?,
            mean_anomaly: self.angle("MEAN_ANOMALY")?,
            drag: self.number("BSTAR")?,
        };
        elements.check()?;
        Ok(ElementSet { name: self.name(), designator: self.get("OBJECT_ID").map(str::to_owned), elements, place })
    }
}
