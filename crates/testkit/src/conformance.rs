//! The server that the official conformance suite tests: what its scenarios expect to find.
//!
//! Names and texts are the suite's. Everything is written with the public functions of the SDK,
//! as anybody would write a server.

mod asks;
mod changes;
mod content;
mod prompts;
mod resources;
mod rounds;

use carrick::Server;
use carrick::proto::revision::Revision;

/// The server under test, in these revisions.
pub fn server(revisions: impl IntoIterator<Item = Revision>) -> Server {
    Server::builder("conformance", "1.0.0")
        .instructions("A server for conformance tests.")
        .tools(content::all())
        .tools(asks::all())
        .tools(rounds::all())
        .tools(changes::all())
        .prompts(prompts::all())
        .resource_functions(resources::all())
        .tools_may_change()
        .prompts_may_change()
        .resource_subscriptions()
        .completions()
        .revisions(revisions)
        .build()
}
