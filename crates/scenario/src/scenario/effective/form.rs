//! Reading and thinning of a canonical form.

use serde_json::{Map, Value};

/// Takes keys away. The order of the others stays: forms are compared as text.
pub(super) fn forget(table: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        table.shift_remove(*key);
    }
}

/// The same in a value, if it is a table.
pub(super) fn forget_in(table: &mut Value, keys: &[&str]) {
    if let Some(table) = table.as_object_mut() {
        forget(table, keys);
    }
}

/// The entries of a list, if it is there.
pub(super) fn list_of<'f>(form: &'f Value, key: &str) -> impl Iterator<Item = &'f Value> {
    form.get(key).and_then(Value::as_array).into_iter().flatten()
}
