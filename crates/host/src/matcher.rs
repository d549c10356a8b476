//! The built-in matcher: finds the tool for a question and fills its arguments.
