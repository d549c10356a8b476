//! Header and status rules of Streamable HTTP as pure functions over strings.
