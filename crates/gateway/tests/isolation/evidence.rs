//! What was seen in a case: whose markers came where.

use memchr::memmem::Finder;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use tokio::time::Instant;

/// Each client's own word, which is in everything that it sends.
pub(crate) const MARKERS: [&str; 3] = ["kestrel", "lapwing", "magpie"];

static FINDERS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| MARKERS.map(Finder::new));

/// The clients whose markers are in these bytes.
pub(crate) fn owners(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let holds = |finder: &Finder<'_>| finder.find(bytes).is_some();
    let found = FINDERS.iter().map(holds).enumerate();
    found.filter_map(|(owner, found)| found.then_some(owner))
}

/// How often each kind of message brought a client its own marker, for clients
/// of the era of sessions and of the one after.
pub(crate) type Deliveries = BTreeMap<(bool, &'static str), usize>;

/// The record of one case, or of several.
#[derive(Clone, Debug)]
pub(crate) struct Evidence(Arc<Mutex<Record>>);

#[derive(Debug)]
struct Record {
    started: Instant,
    delivered: Deliveries,
    /// The first marker that came to another.
    crossed: Option<String>,
    trace: Option<Vec<String>>,
}

impl Evidence {
    /// An empty record, inside a runtime.
    /// `traced`: it keeps what happens.
    pub(crate) fn new(traced: bool) -> Self {
        let record = Record {
            started: Instant::now(),
            delivered: Deliveries::new(),
            crossed: None,
            trace: traced.then(Vec::new),
        };
        Self(Arc::new(Mutex::new(record)))
    }

    /// A client has received these bytes: none but its own marker may be there.
    pub(crate) fn received(&self, client: usize, bytes: &[u8]) {
        for owner in owners(bytes).filter(|owner| *owner != client) {
            let (what, whose) = (String::from_utf8_lossy(bytes), MARKERS[owner]);
            self.cross(format!("{} received what is of {whose}: {what}", MARKERS[client]));
        }
    }

    /// A server's question was answered; `asked` and `answer` are its bytes.
    pub(crate) fn answered(&self, asked: &[u8], answer: &[u8]) {
        let concerned: Vec<_> = owners(asked).collect();
        for owner in owners(answer).filter(|owner| !concerned.contains(owner)) {
            if !concerned.is_empty() {
                let (asked, answer) =
                    (String::from_utf8_lossy(asked), String::from_utf8_lossy(answer));
                self.cross(format!("{} answered for another: {asked}: {answer}", MARKERS[owner]));
            }
        }
    }

    fn cross(&self, how: String) {
        self.note(|| format!("CROSSED: {how}"));
        self.record().crossed.get_or_insert(how);
    }

    /// A message of this kind has brought a client its own marker.
    pub(crate) fn delivered(&self, modern: bool, kind: &'static str) {
        *self.record().delivered.entry((modern, kind)).or_default() += 1;
    }

    pub(crate) fn deliveries(&self) -> Deliveries {
        self.record().delivered.clone()
    }

    pub(crate) fn crossed(&self) -> Option<String> {
        self.record().crossed.clone()
    }

    /// Writes down what happens, for people.
    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        let mut record = self.record();
        let at = record.started.elapsed().as_secs_f64();
        if let Some(trace) = &mut record.trace {
            trace.push(format!("{at:>9.3} {}", what()));
        }
    }

    pub(crate) fn trace(&self) -> String {
        self.record().trace.as_deref().unwrap_or_default().join("\n")
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap()
    }
}
