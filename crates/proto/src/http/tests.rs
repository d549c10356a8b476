mod access;
mod headers;
mod params;
mod status;

use super::Field;

fn field(value: &str) -> Field<'_> {
    Field::from_values([value.as_bytes()])
}

macro_rules! handed {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/", $path))
    };
}
use handed;
