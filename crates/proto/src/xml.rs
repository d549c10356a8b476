//! The XML dialect: how a model writes tool requests, and how small servers speak it.
