//! How a model asks for tools: native calls, XML blocks, and what `route` reads.
