//! Tables as Parquet files: each batch is a row group, and each column has one of the four types of [`Column`].
//!
//! The parquet crate can also write whole Arrow batches, of any type. That part takes a minute and a half to compile
//! (`docs/decisions/table-files.md`), so columns go through its typed writers here.

#[cfg(test)]
mod reader;

use crate::tables::Column;
use arrow_array::{Array, RecordBatch, StringViewArray};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
#[cfg(test)]
pub(crate) use reader::ParquetReader;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// A file to which batches are added, a row group each.
pub(crate) struct Parquet(SerializedFileWriter<BufWriter<File>>);

impl Parquet {
    /// Without statistics, which nobody asks for: tables are read whole. Hardly a real number repeats: a dictionary of
    /// them is given up when it is full, after most of the time was spent.
    pub fn new(file: File, like: &RecordBatch) -> io::Result<Parquet> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None);
        let mut fields = Vec::new();
        for (field, column) in like.schema().fields().iter().zip(like.columns()) {
            let column = Column::of(column);
            if matches!(column, Column::Real(_)) {
                properties = properties.set_column_dictionary_enabled(ColumnPath::from(field.name().as_str()), false);
            }
            let (physical, logical) = match column {
                Column::Real(_) => (Physical::DOUBLE, None),
                Column::Count(_) => (Physical::INT64, None),
                Column::Flag(_) => (Physical::BOOLEAN, None),
                Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let column = Type::primitive_type_builder(field.name(), physical).with_logical_type(logical);
            fields.push(Arc::new(column.with_repetition(Repetition::OPTIONAL).build()?));
        }
        let schema = Type::group_type_builder("table").with_fields(fields).build()?;
        let file = SerializedFileWriter::new(BufWriter::new(file), Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Parquet(file))
    }

    pub fn add(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let mut group = self.0.next_row_group()?;
        for column in batch.columns() {
            let mut writer = group.next_column()?.ok_or_else(|| io::Error::other("the batch has more columns"))?;
            write_column(&mut writer, column)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    pub fn finish(self) -> io::Result<()> {
        self.0.into_inner()?.flush()
    }
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &dyn Array) -> Result<()> {
    // 1 for each value, 0 for each null.
    let levels: Vec<i16> = match column.nulls() {
        None => vec![1; column.len()],
        Some(nulls) => nulls.iter().map(i16::from).collect(),
    };
    match Column::of(column) {
        Column::Real(values) if values.null_count() == 0 => write::<DoubleType>(writer, values.values(), &levels),
        Column::Real(values) => write::<DoubleType>(writer, &values.iter().flatten().collect::<Vec<_>>(), &levels),
        Column::Count(values) if values.null_count() == 0 => write::<Int64Type>(writer, values.values(), &levels),
        Column::Count(values) => write::<Int64Type>(writer, &values.iter().flatten().collect::<Vec<_>>(), &levels),
        Column::Flag(values) => write::<BoolType>(writer, &values.iter().flatten().collect::<Vec<_>>(), &levels),
        Column::Text(values) => write::<ByteArrayType>(writer, &texts(values), &levels),
    }
}

/// The texts that are not null. Equal views are the same text. Most texts are names that repeat, and to copy each is
/// what would take longest, so the last one of each place of `known` is kept.
fn texts(values: &StringViewArray) -> Vec<ByteArray> {
    let mut known: [(u128, Option<ByteArray>); PLACES] = [const { (0, None) }; PLACES];
    let mut text = |(row, &view): (usize, &u128)| {
        let (kept, text) = &mut known[(view ^ view >> 32 ^ view >> 64 ^ view >> 96) as usize % PLACES];
        match text {
            Some(text) if *kept == view => text.clone(),
            _ => {
                *kept = view;
                text.insert(values.value(row).into()).clone()
            }
        }
    };
    let rows = values.views().iter().enumerate();
    match values.nulls() {
        None => rows.map(text).collect(),
        Some(nulls) => rows.zip(nulls).filter(|&(_, is_valid)| is_valid).map(|(row, _)| text(row)).collect(),
    }
}

/// Texts that are kept while a column is written.
const PLACES: usize = 256;

fn write<T: DataType>(writer: &mut SerializedColumnWriter<'_>, values: &[T::T], levels: &[i16]) -> Result<()> {
    writer.typed::<T>().write_batch(values, Some(levels), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array};
    use arrow_schema::{Field, Schema};

    /// More texts than are kept, empty and long ones, and nulls in every type, also as the first and the only values.
    #[test]
    fn every_value_comes_back_from_its_row_group() {
        let batch = |rows: std::ops::Range<usize>| {
            let some = |row: usize, n: usize| (!row.is_multiple_of(n)).then_some(row);
            let text = |row: usize, n: usize| {
                some(row, 7).map(|row| "näme of a station ".repeat(row % 3) + &(row % n).to_string())
            };
            let empty = |row: usize| some(row, 3).map(|row| if row % 2 == 0 { "" } else { "a" });
            let columns: [(&str, ArrayRef); 8] = [
                (
                    "real",
                    Arc::new(
                        rows.clone().map(|row| some(row, 5).map(|row| row as f64 / 7.0)).collect::<Float64Array>(),
                    ),
                ),
                ("all", Arc::new(rows.clone().map(|row| row as f64 / 3.0).map(Some).collect::<Float64Array>())),
                ("none", Arc::new(rows.clone().map(|_| None).collect::<Float64Array>())),
                (
                    "count",
                    Arc::new(rows.clone().map(|row| some(row, 2).map(|row| row as i64 - 9)).collect::<Int64Array>()),
                ),
                (
                    "flag",
                    Arc::new(rows.clone().map(|row| some(row, 11).map(|row| row % 3 == 0)).collect::<BooleanArray>()),
                ),
                ("many", Arc::new(rows.clone().map(|row| text(row, 5000)).collect::<StringViewArray>())),
                ("few", Arc::new(rows.clone().map(|row| text(row, 20)).collect::<StringViewArray>())),
                ("empty", Arc::new(rows.map(empty).collect::<StringViewArray>())),
            ];
            let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect()).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let pieces = [batch(0..30_000), batch(30_000..30_001), batch(30_001..41_000)];
        let mut file = Parquet::new(File::create(&path).unwrap(), &pieces[0]).unwrap();
        pieces.iter().for_each(|piece| file.add(piece).unwrap());
        file.finish().unwrap();
        let reader = ParquetReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.row_groups(), pieces.len());
        let columns = reader.columns();
        assert_eq!(columns, ["real", "all", "none", "count", "flag", "many", "few", "empty"]);
        for (group, piece) in pieces.iter().enumerate() {
            assert_eq!(reader.read(group, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap(), *piece);
            assert_eq!(reader.read(group, &[3, 6]).unwrap(), piece.project(&[3, 6]).unwrap());
        }
    }
}
