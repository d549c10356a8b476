//! Language models: requests, streamed answers, and the providers that carry them.
