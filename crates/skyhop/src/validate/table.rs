//! Reading the CSV files of a reference folder, gzipped or not.

use super::ValidateError;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

/// A CSV file with a header, as text.
pub struct Table {
    path: String,
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

/// One row of a [`Table`].
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    number: usize,
}

impl Table {
    pub fn read(path: &Path) -> Result<Table, ValidateError> {
        let error = |reason: String| ValidateError::Read { path: path.display().to_string(), reason };
        let file = File::open(path).map_err(|e| error(e.to_string()))?;
        let zipped = path.extension().is_some_and(|extension| extension == "gz");
        let reader: Box<dyn Read> = if zipped { Box::new(flate2::read::GzDecoder::new(file)) } else { Box::new(file) };
        let mut csv = csv::Reader::from_reader(reader);
        let columns = csv.headers().map_err(|e| error(e.to_string()))?.iter().map(str::to_owned).collect();
        let rows = csv.records().collect::<Result<Vec<_>, _>>().map_err(|e| error(e.to_string()))?;
        Ok(Table { path: path.display().to_string(), columns, rows })
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.len()).map(|number| Row { table: self, number })
    }
}

impl<'a> Row<'a> {
    /// The text of a column; empty where the file has no such column.
    pub fn text(&self, column: &str) -> &'a str {
        let index = self.table.columns.iter().position(|name| name == column);
        index.and_then(|index| self.table.rows[self.number].get(index)).unwrap_or("").trim()
    }

    /// The number in a column; `None` where it is empty.
    pub fn optional(&self, column: &str) -> Result<Option<f64>, ValidateError> {
        match self.text(column) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| self.error(column, format!("\"{text}\" is not a number"))),
        }
    }

    /// The same within bounds, both included.
    pub fn optional_in(&self, column: &str, bounds: RangeInclusive<f64>) -> Result<Option<f64>, ValidateError> {
        self.optional(column)?.map(|number| self.held(column, number, &bounds)).transpose()
    }

    /// A number within bounds, both included.
    pub fn number_in(&self, column: &str, bounds: RangeInclusive<f64>) -> Result<f64, ValidateError> {
        self.held(column, self.number(column)?, &bounds)
    }

    /// A list of numbers within bounds, both included.
    pub fn numbers_in(&self, column: &str, bounds: RangeInclusive<f64>) -> Result<Vec<f64>, ValidateError> {
        self.numbers(column)?.into_iter().map(|number| self.held(column, number, &bounds)).collect()
    }

    fn held(&self, column: &str, number: f64, bounds: &RangeInclusive<f64>) -> Result<f64, ValidateError> {
        if bounds.contains(&number) {
            return Ok(number);
        }
        Err(self.error(column, format!("{number} is not a number from {} to {}", bounds.start(), bounds.end())))
    }

    pub fn number(&self, column: &str) -> Result<f64, ValidateError> {
        self.optional(column)?.ok_or_else(|| self.error(column, "a number is missing".into()))
    }

    /// A number that is not negative and has no fraction, read without rounding.
    pub fn whole(&self, column: &str) -> Result<u64, ValidateError> {
        self.small(column)
    }

    /// The same, in a smaller type.
    pub fn small<T: FromStr>(&self, column: &str) -> Result<T, ValidateError> {
        let text = self.text(column);
        text.parse().map_err(|_| self.error(column, format!("\"{text}\" is not a whole number in its range")))
    }

    /// The entries of a list whose separator is one of `|` and `;`.
    pub fn list(&self, column: &str) -> impl Iterator<Item = &'a str> {
        self.text(column).split(['|', ';']).map(str::trim).filter(|entry| !entry.is_empty())
    }

    pub fn numbers(&self, column: &str) -> Result<Vec<f64>, ValidateError> {
        self.list(column)
            .map(|entry| entry.parse().map_err(|_| self.error(column, format!("\"{entry}\" is not a number"))))
            .collect()
    }

    pub fn error(&self, column: &str, reason: String) -> ValidateError {
        // The header is line 1.
        ValidateError::Value { path: self.table.path.clone(), row: self.number + 2, column: column.into(), reason }
    }
}
