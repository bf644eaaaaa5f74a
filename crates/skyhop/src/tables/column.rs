//! The types that columns have, so that each reader of columns handles them all.

use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, StringViewArray};

pub(crate) enum Column<'a> {
    Real(&'a Float64Array),
    Count(&'a Int64Array),
    Flag(&'a BooleanArray),
    Text(&'a StringViewArray),
}

impl<'a> Column<'a> {
    pub(crate) fn of(array: &'a dyn Array) -> Column<'a> {
        let any = array.as_any();
        if let Some(values) = any.downcast_ref() {
            Column::Real(values)
        } else if let Some(values) = any.downcast_ref() {
            Column::Count(values)
        } else if let Some(values) = any.downcast_ref() {
            Column::Flag(values)
        } else if let Some(values) = any.downcast_ref() {
            Column::Text(values)
        } else {
            unreachable!("tables have no column of type {}", array.data_type())
        }
    }
}
