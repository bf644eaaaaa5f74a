//! Tables as Parquet files: each batch is a row group, and each column has one of the four types of [`Column`].
//!
//! The parquet crate can also write and read whole Arrow batches, of any type. That part takes a minute and a half to
//! compile (`docs/decisions/table-files.md`), so columns go through its typed writers and readers here.

use crate::tables::{Column, Names};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
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

/// Texts that are kept while a column is written or read.
const PLACES: usize = 256;

fn write<T: DataType>(writer: &mut SerializedColumnWriter<'_>, values: &[T::T], levels: &[i16]) -> Result<()> {
    writer.typed::<T>().write_batch(values, Some(levels), None)?;
    Ok(())
}

/// Reads a file of [`Parquet`] back, one column of a row group at a time.
pub(crate) struct ParquetReader(SerializedFileReader<File>);

impl ParquetReader {
    pub fn new(file: File) -> io::Result<ParquetReader> {
        Ok(ParquetReader(SerializedFileReader::new(file)?))
    }

    pub fn columns(&self) -> Vec<ColumnOfFile> {
        let columns = self.0.metadata().file_metadata().schema_descr().columns();
        let column = |column: &parquet::schema::types::ColumnDescPtr| ColumnOfFile {
            name: column.name().to_owned(),
            is_text: column.physical_type() == Physical::BYTE_ARRAY,
        };
        columns.iter().map(column).collect()
    }

    #[cfg(test)]
    pub fn row_groups(&self) -> usize {
        self.0.num_row_groups()
    }

    /// The values of these columns in a row group.
    pub fn read(&self, row_group: usize, columns: &[usize]) -> io::Result<RecordBatch> {
        let group = self.0.get_row_group(row_group)?;
        let rows = group.metadata().num_rows() as usize;
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for &column in columns {
            let array = read_column(group.get_column_reader(column)?, rows)?;
            let name = group.metadata().column(column).column_descr().name();
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(io::Error::other)
    }
}

pub(crate) struct ColumnOfFile {
    pub name: String,
    pub is_text: bool,
}

fn read_column(reader: ColumnReader, rows: usize) -> io::Result<ArrayRef> {
    Ok(match reader {
        ColumnReader::DoubleColumnReader(_) => {
            let (values, nulls) = read::<DoubleType>(reader, rows)?;
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        ColumnReader::Int64ColumnReader(_) => {
            let (values, nulls) = read::<Int64Type>(reader, rows)?;
            Arc::new(Int64Array::new(values.into(), nulls))
        }
        ColumnReader::BoolColumnReader(_) => {
            let (values, nulls) = read::<BoolType>(reader, rows)?;
            Arc::new(BooleanArray::new(values.into(), nulls))
        }
        ColumnReader::ByteArrayColumnReader(_) => {
            let (texts, nulls) = read::<ByteArrayType>(reader, rows)?;
            read_texts(&texts, nulls.as_ref())?
        }
        _ => return Err(io::Error::other("a column has a type that tables do not have")),
    })
}

/// The reader gives the same bytes for equal texts of a page's dictionary, so each is looked at once.
fn read_texts(texts: &[ByteArray], nulls: Option<&NullBuffer>) -> io::Result<ArrayRef> {
    let (mut distinct, mut ids): (Vec<String>, Vec<Option<u32>>) = (Vec::new(), Vec::with_capacity(texts.len()));
    let mut known: [Option<(&[u8], u32)>; PLACES] = [None; PLACES];
    for (row, text) in texts.iter().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            ids.push(None);
            continue;
        }
        let bytes = text.data();
        let kept = &mut known[(bytes.as_ptr().addr() >> 3) % PLACES];
        let id = match *kept {
            Some((known, id)) if std::ptr::eq(known, bytes) => id,
            _ => {
                distinct.push(text.as_utf8()?.to_owned());
                let id = distinct.len() as u32 - 1;
                *kept = Some((bytes, id));
                id
            }
        };
        ids.push(Some(id));
    }
    Ok(Names::new(&distinct).of(ids.into_iter()))
}

/// So many rows of a column, and which of them are null. Those have the default of the type.
fn read<T: DataType>(reader: ColumnReader, rows: usize) -> io::Result<(Vec<T::T>, Option<NullBuffer>)> {
    let mut reader = get_typed_column_reader::<T>(reader);
    let (mut levels, mut values) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    // It may stop at the end of a page.
    while levels.len() < rows {
        let (more, ..) = reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut values)?;
        if more == 0 {
            return Err(io::Error::other("it lacks rows that were just written"));
        }
    }
    if values.len() == rows {
        return Ok((values, None));
    }
    let mut values = values.into_iter();
    let nulls = levels.iter().map(|&level| level != 0).collect();
    let mut of = |level| if level == 0 { T::T::default() } else { values.next().unwrap_or_default() };
    Ok((levels.into_iter().map(&mut of).collect(), Some(nulls)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["real", "all", "none", "count", "flag", "many", "few", "empty"]);
        assert_eq!(columns.iter().filter(|column| column.is_text).count(), 3);
        for (group, piece) in pieces.iter().enumerate() {
            assert_eq!(reader.read(group, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap(), *piece);
            assert_eq!(reader.read(group, &[3, 6]).unwrap(), piece.project(&[3, 6]).unwrap());
        }
    }
}
