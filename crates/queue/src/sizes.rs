//! Sizes in files: a text with its unit, "1514 B", as all of the scenario's sizes. In memory they are plain numbers of
//! bytes. For `#[serde(with = …)]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skyhop_base::Bytes;

fn narrowed<T: TryFrom<u64>, E: Error>(size: Bytes) -> Result<T, E> {
    T::try_from(size.0).map_err(|_| E::custom(format!("{size} is too much here")))
}

/// A size.
pub(crate) mod one {
    use super::*;

    pub fn serialize<T: Copy + Into<u64>, S: Serializer>(size: &T, serializer: S) -> Result<S::Ok, S::Error> {
        Bytes((*size).into()).serialize(serializer)
    }

    pub fn deserialize<'de, T: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        narrowed(Bytes::deserialize(deserializer)?)
    }
}

/// A size that may be left out.
pub(crate) mod option {
    use super::*;

    pub fn serialize<T: Copy + Into<u64>, S: Serializer>(size: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        size.map(|size| Bytes(size.into())).serialize(serializer)
    }

    pub fn deserialize<'de, T: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        Option::<Bytes>::deserialize(deserializer)?.map(narrowed).transpose()
    }
}

/// Three sizes.
pub(crate) mod three {
    use super::*;

    pub fn serialize<S: Serializer>(sizes: &[u32; 3], serializer: S) -> Result<S::Ok, S::Error> {
        sizes.map(|size| Bytes(size.into())).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u32; 3], D::Error> {
        let [a, b, c] = <[Bytes; 3]>::deserialize(deserializer)?;
        Ok([narrowed(a)?, narrowed(b)?, narrowed(c)?])
    }
}
