//! What must hold for any bytes. Each target panics when it does not; `fuzz/`
//! hands the same functions to cargo-fuzz.
#![expect(clippy::expect_used, reason = "to panic is how a target says that it does not hold")]

mod edits;
mod envelope;
mod header;
mod lines;
mod schema;
mod sse;
mod state;
mod translation;

/// A property of all inputs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Panics when it does not hold for these bytes.
    pub run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const ALL: [Target; 8] = [
    Target { name: "envelope", run: envelope::run, seeds: envelope::seeds },
    Target { name: "edits", run: edits::run, seeds: edits::seeds },
    Target { name: "translate", run: translation::run, seeds: translation::seeds },
    Target { name: "sse", run: sse::run, seeds: sse::seeds },
    Target { name: "stdio", run: lines::run, seeds: lines::seeds },
    Target { name: "header", run: header::run, seeds: header::seeds },
    Target { name: "state", run: state::run, seeds: state::seeds },
    Target { name: "schema", run: schema::run, seeds: schema::seeds },
];

/// Runs the target of this name on one input, for other engines than ours.
///
/// # Panics
///
/// When the target does not hold for it, or there is none of this name.
pub fn run(name: &str, data: &[u8]) {
    let target = ALL.iter().find(|target| target.name == name);
    let Some(target) = target else { panic!("there is no target {name:?}") };
    (target.run)(data);
}

/// Cuts the head off an input, to make choices by; zeros where it is too short.
fn head<const N: usize>(data: &[u8]) -> ([u8; N], &[u8]) {
    match data.split_first_chunk() {
        Some((head, rest)) => (*head, rest),
        None => ([0; N], data),
    }
}

/// The input in pieces of sizes that `choice` decides, from 1 byte to many.
fn pieces(data: &[u8], choice: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    let mut random = crate::random::Random::new(choice.into());
    let most = 1 + usize::from(choice >> 3);
    std::iter::from_fn(move || {
        let (piece, later) = rest.split_at((1 + random.below(most)).min(rest.len()));
        rest = later;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Inputs with heads made of every one of `choices`.
fn with_heads(choices: &[&[u8]], inputs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let joined = |input: &Vec<u8>| {
        choices.iter().map(|head| [head, input.as_slice()].concat()).collect::<Vec<_>>()
    };
    inputs.iter().flat_map(joined).collect()
}
