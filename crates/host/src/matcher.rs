//! The built-in matcher.
mod facts;
mod lexicon;
mod phrases;
mod role;
mod schema;
mod text;
