//! Reads a file of [`Parquet`](super::Parquet) back, for tests.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow_schema::{Field, Schema};
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::io;
use std::sync::Arc;

pub(crate) struct ParquetReader(SerializedFileReader<File>);

impl ParquetReader {
    pub fn new(file: File) -> io::Result<ParquetReader> {
        Ok(ParquetReader(SerializedFileReader::new(file)?))
    }

    /// The names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let columns = self.0.metadata().file_metadata().schema_descr().columns();
        columns.iter().map(|column| column.name().to_owned()).collect()
    }

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

fn read_column(reader: ColumnReader, rows: usize) -> io::Result<ArrayRef> {
    Ok(match reader {
        ColumnReader::DoubleColumnReader(_) => {
            Arc::new(read::<DoubleType>(reader, rows)?.into_iter().collect::<Float64Array>())
        }
        ColumnReader::Int64ColumnReader(_) => {
            Arc::new(read::<Int64Type>(reader, rows)?.into_iter().collect::<Int64Array>())
        }
        ColumnReader::BoolColumnReader(_) => {
            Arc::new(read::<BoolType>(reader, rows)?.into_iter().collect::<BooleanArray>())
        }
        ColumnReader::ByteArrayColumnReader(_) => {
            let texts = read::<ByteArrayType>(reader, rows)?;
            let texts = texts.iter().map(|text| text.as_ref().map(|text| text.as_utf8()).transpose());
            Arc::new(texts.collect::<Result<StringViewArray, _>>()?)
        }
        _ => return Err(io::Error::other("a column has a type that tables do not have")),
    })
}

/// So many rows of a column.
fn read<T: DataType>(reader: ColumnReader, rows: usize) -> io::Result<Vec<Option<T::T>>> {
    let mut reader = get_typed_column_reader::<T>(reader);
    let (mut levels, mut values) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    // It may stop at the end of a page.
    while levels.len() < rows {
        let (more, ..) = reader.read_records(rows - levels.len(), Some(&mut levels), None, &mut values)?;
        if more == 0 {
            return Err(io::Error::other("rows are missing"));
        }
    }
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level == 0 { None } else { values.next() }).collect())
}
