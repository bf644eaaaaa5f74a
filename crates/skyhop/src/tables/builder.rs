//! Tables are built row by row type and column by column, over five types: real number, count, yes or no, name
//! of a component, and text. A value that does not exist, or is not a number, is null.

use arrow_array::builder::{BooleanBuilder, StringViewBuilder};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};
use skyhop_base::Time;
use std::sync::Arc;

/// The names of one kind of component, to be put in place of their ids.
pub(crate) struct Names(StringViewArray);

impl Names {
    pub(crate) fn new(names: &[String]) -> Names {
        Names(StringViewArray::from_iter_values(names))
    }

    /// The names of `ids` without copying the text; null for none.
    pub(crate) fn of(&self, ids: impl Iterator<Item = Option<u32>>) -> ArrayRef {
        let known = |id: u32| {
            debug_assert!((id as usize) < self.0.len(), "a row names component {id} of {}", self.0.len());
            ((id as usize) < self.0.len()).then_some(id)
        };
        // Views of text that they share. arrow-select has a kernel for this, beside others that take long to compile.
        let ids: Vec<Option<u32>> = ids.map(|id| id.and_then(known)).collect();
        let views: Vec<u128> = ids.iter().map(|id| id.map_or(0, |id| self.0.views()[id as usize])).collect();
        let named: NullBuffer = ids.iter().map(Option::is_some).collect();
        let nulls = (named.null_count() > 0).then_some(named);
        let text = StringViewArray::try_new(views.into(), self.0.data_buffers().to_vec(), nulls);
        Arc::new(text.expect("the views are those of an array"))
    }
}

/// Columns over `rows`, in the order in which they are added.
pub(super) struct TableBuilder<'a, R> {
    rows: &'a [R],
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
}

impl<'a, R> TableBuilder<'a, R> {
    pub(super) fn over(rows: &'a [R]) -> Self {
        TableBuilder { rows, fields: Vec::new(), columns: Vec::new() }
    }

    fn column(mut self, name: &str, array: ArrayRef) -> Self {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.columns.push(array);
        self
    }

    /// A real number, in the unit that the column's name ends in.
    pub(super) fn real<V: Into<Option<f64>>>(self, name: &str, value: impl Fn(&R) -> V) -> Self {
        let finite = |row| value(row).into().filter(|v| v.is_finite());
        let array: Float64Array = self.rows.iter().map(finite).collect();
        self.column(name, Arc::new(array))
    }

    /// An instant in seconds since the start of the run.
    pub(super) fn time(self, name: &str, value: impl Fn(&R) -> Time) -> Self {
        self.real(name, |row| value(row).as_secs_f64())
    }

    /// A whole number. Signed, so that differences of columns are right whatever computes them.
    pub(super) fn count<V: Into<Option<u64>>>(self, name: &str, value: impl Fn(&R) -> V) -> Self {
        let array: Int64Array = self.rows.iter().map(|row| value(row).into().map(|v| v as i64)).collect();
        self.column(name, Arc::new(array))
    }

    pub(super) fn flag(self, name: &str, value: impl Fn(&R) -> bool) -> Self {
        let mut builder = BooleanBuilder::with_capacity(self.rows.len());
        self.rows.iter().for_each(|row| builder.append_value(value(row)));
        self.column(name, Arc::new(builder.finish()))
    }

    /// The name of a component, given its id.
    pub(super) fn name<V: Into<Option<u32>>>(self, name: &str, names: &Names, id: impl Fn(&R) -> V) -> Self {
        let array = names.of(self.rows.iter().map(|row| id(row).into()));
        self.column(name, array)
    }

    /// Text that repeats much: each distinct value is kept once.
    pub(super) fn text<S: AsRef<str>>(self, name: &str, value: impl Fn(&'a R) -> S) -> Self {
        let mut builder = StringViewBuilder::with_capacity(self.rows.len()).with_deduplicate_strings();
        self.rows.iter().for_each(|row| builder.append_value(value(row)));
        self.column(name, Arc::new(builder.finish()))
    }

    pub(super) fn finish(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.columns)
            .expect("every column has one value per row and the type that its field says")
    }
}
