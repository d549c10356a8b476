//! Long tests of the workspace: [fuzz targets](targets), which take any bytes and
//! panic when what must hold does not, and [scenarios](scenario) of very many
//! sessions, streams and calls. `cargo xtask soak` runs them for as long as one
//! likes, the tests of this crate for a moment.

pub mod corpus;
pub mod fuzz;
pub mod random;
pub mod scenario;
pub mod targets;
