//! Current time and conversion between zones.
