//! Cases: a server, clients, and what happens between them, from one seed.

use crate::client::{Client, Way};
use crate::evidence::{Deliveries, Evidence};
use crate::random::Random;
use crate::server::{Nature, Worst};
use crate::support;
use carrick_gateway::{Gateway, Sharing};
use std::time::{Duration, Instant, SystemTime};
use tokio::time::sleep;

/// What the cases of one test have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) server: Nature,
    /// Whether the clients come over HTTP, or on pipes of their own.
    pub(crate) http: bool,
    /// What calls run in whose clients cannot be told from others.
    pub(crate) sharing: Sharing,
}

/// Runs cases of a setting, the usual number over `fewer` unless the environment
/// says otherwise, and gives what they delivered, and how many they were. Fails
/// at the first in which a marker crosses over.
pub(crate) fn cases(setting: Setting, usual: u64, fewer: u64) -> (Deliveries, u64) {
    let (mut all, mut count) = (Deliveries::new(), 0);
    let began = Instant::now();
    for seed in seeds(usual, fewer) {
        let evidence = if is_one() { shown(setting, seed) } else { case(setting, seed) };
        count += 1;
        if let Some(how) = evidence.crossed() {
            let trace = traced(setting, seed).trace();
            panic!("{setting:?}, CARRICK_ISOLATION_SEED={seed}: {how}\n\n{trace}");
        }
        for (kind, times) in evidence.deliveries() {
            *all.entry(kind).or_default() += times;
        }
        if minutes().is_some_and(|most| began.elapsed() > most) {
            break;
        }
    }
    (all, count)
}

/// Whether a single case is run, to be looked at.
fn is_one() -> bool {
    number("CARRICK_ISOLATION_SEED").is_some()
}

fn seeds(usual: u64, fewer: u64) -> std::ops::Range<u64> {
    if let Some(seed) = number("CARRICK_ISOLATION_SEED") {
        return seed..seed + 1;
    }
    if minutes().is_some() {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        return since.unwrap_or_default().as_nanos() as u64 >> 1..u64::MAX;
    }
    0..number("CARRICK_ISOLATION_CASES").unwrap_or(usual).div_ceil(fewer)
}

fn minutes() -> Option<Duration> {
    Some(Duration::from_secs(60 * number("CARRICK_ISOLATION_MINUTES")?))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

/// One case.
pub(crate) fn case(setting: Setting, seed: u64) -> Evidence {
    on_a_clock_of_its_own(play(setting, seed, false))
}

/// The same, for people to see.
#[expect(clippy::print_stdout, reason = "that is what a single case is run for")]
fn shown(setting: Setting, seed: u64) -> Evidence {
    let evidence = traced(setting, seed);
    println!("{}", evidence.trace());
    evidence
}

/// The same, with all that happens in it written down.
fn traced(setting: Setting, seed: u64) -> Evidence {
    on_a_clock_of_its_own(play(setting, seed, true))
}

fn on_a_clock_of_its_own<T>(case: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(case)
}

async fn play(setting: Setting, seed: u64, traced: bool) -> Evidence {
    let mut random = Random::new(seed);
    let evidence = Evidence::new(traced);
    let server = Worst::new(setting.server, evidence.clone());
    let gateway = support::gateway(server, setting.sharing).await;
    let mut clients = clients(setting, &mut random, &gateway, &evidence).await;
    for _ in 0..20 + random.below(20) {
        let who = random.below(clients.len());
        clients[who].step(&mut random).await;
        pass_time(&mut random).await;
        if evidence.crossed().is_some() {
            return evidence;
        }
    }
    // Whatever waits comes to its end.
    sleep(Duration::from_secs(30)).await;
    sleep(2 * support::LONGEST).await;
    drop(clients);
    sleep(Duration::from_secs(1)).await;
    gateway.close().await;
    evidence
}

async fn clients(
    setting: Setting,
    random: &mut Random,
    gateway: &Gateway,
    evidence: &Evidence,
) -> Vec<Client> {
    let address = if setting.http { Some(support::listen(gateway.clone()).await) } else { None };
    let count = if random.percent(20) { 3 } else { 2 };
    let way = || match &address {
        Some(url) => Way::Http(support::http_client(), url.clone()),
        None => Way::Pipes(gateway.clone()),
    };
    (0..count).map(|me| Client::new(me, way(), random, evidence.clone())).collect()
}

async fn pass_time(random: &mut Random) {
    match random.below(100) {
        0..30 => {
            for _ in 0..random.below(12) {
                tokio::task::yield_now().await;
            }
        }
        30..80 => sleep(Duration::from_millis(1 + random.below(500) as u64)).await,
        80..97 => sleep(Duration::from_millis(1 + random.below(5000) as u64)).await,
        _ => sleep(Duration::from_secs(1 + random.below(200) as u64)).await,
    }
}
