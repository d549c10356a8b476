//! Which project configurations a person has approved, by content hash.
