//! A whole run: servers, workers, batches, failures.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use sandbox::{Flavor, Options, Server};

use crate::case::Case;
use crate::client::{Address, Client};
use crate::coverage::Coverage;
use crate::evidence::{STATEMENTS_KEPT, WAITS_KEPT};
use crate::grammar::Grammar;
use crate::known::known;
use crate::minimize::minimize;
use crate::proxy::{Proxy, Rule};
use crate::random::Random;
use crate::verdict::{Catalogue, Kind, Milder};
use crate::worker::{Place, Through, Worker};
use crate::{corpus, world};

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub flavor: Flavor,
    pub packets: u64,
    pub seed: u64,
    pub workers: usize,
    pub catalogue: Catalogue,
    /// New failures are kept here.
    pub keep: Option<PathBuf>,
    /// Failures of one signature that are minimised.
    pub examples: u64,
    /// Say where the time went.
    pub verbose: bool,
}

/// A failure that was confirmed and made small.
#[derive(Debug, Clone)]
pub struct Finding {
    pub case: Case,
    pub failure: Milder,
    /// The name of its corpus file, if it came from one.
    pub origin: Option<String>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    pub coverage: Coverage,
    pub findings: Vec<Finding>,
    pub elapsed: Duration,
}

/// Packets between two looks at the evidence. A proxy's connection leaves more of it: MySQL records each read of a TCP socket,
/// although its setup says that it does not, and 32 packets lost the events of the first ones.
fn batch_size(through: &Through) -> usize {
    match through {
        Through::Directly => 32,
        Through::Proxy(..) => 16,
    }
}

/// What the workers share.
struct Shared {
    place: Place,
    plan: Plan,
    grammar: Grammar,
    corpus: Vec<(String, Case)>,
    next: AtomicU64,
    coverage: Mutex<Coverage>,
    findings: Mutex<Vec<Finding>>,
    /// Failures by signature.
    signatures: Mutex<BTreeMap<String, u64>>,
}

/// A server for the oracle: no binlog, and room in the performance schema.
pub fn start_server(flavor: Flavor) -> Result<Server> {
    let mut options = Options::of(flavor);
    let kept = |of: &str, number: usize| format!("--performance-schema-events-{of}-history-size={number}");
    for argument in [kept("statements", STATEMENTS_KEPT), kept("waits", WAITS_KEPT)] {
        options = options.argument(argument);
    }
    for argument in [
        "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0",
        "--performance-schema-max-sql-text-length=4096",
        "--performance-schema-instrument=wait/io/socket/%=OFF",
        "--performance-schema-instrument=idle=OFF",
        "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON",
        "--innodb-lock-wait-timeout=1",
        "--lock-wait-timeout=2",
        "--max-allowed-packet=16M",
    ] {
        options = options.argument(argument);
    }
    options = match flavor {
        Flavor::Mysql => options.argument("--gtid-mode=OFF").argument("--enforce-gtid-consistency=OFF"),
        Flavor::Mariadb => options.argument("--performance-schema-instrument=statement/%=ON"),
    };
    let server = Server::start(options)?;
    server.root_sql("CREATE USER judge@'%'; GRANT ALL ON *.* TO judge@'%' WITH GRANT OPTION;")?;
    Ok(server)
}

/// The address for packets: the socket if it can be reached.
pub fn address(server: &Server) -> Address {
    let unix = Address::Unix(server.socket().to_owned());
    match Client::connect(&unix, "judge", None) {
        Ok(_) => unix,
        Err(_) => Address::Tcp(server.address()),
    }
}

pub fn run(server: &Server, plan: Plan) -> Result<Report> {
    run_through(server, plan, Through::Directly)
}

/// The same through a proxy, for each rule an equal part of the packets. `None`: there is no binary of the proxy.
pub fn run_proxy(server: &Server, plan: &Plan) -> Result<Option<Report>> {
    let mut all = Report { coverage: Coverage::default(), findings: Vec::new(), elapsed: Duration::ZERO };
    prepare(server, plan)?;
    for (rule, number) in Rule::ALL.into_iter().zip(0_u64..) {
        let Some(proxy) = Proxy::start(server, rule, plan.workers)? else { return Ok(None) };
        proxy.check(rule)?;
        let part = Plan {
            packets: plan.packets / Rule::ALL.len() as u64,
            seed: plan.seed.wrapping_add(number),
            ..plan.clone()
        };
        let report = run_through(server, part, Through::Proxy(proxy.address.clone(), rule))?;
        println!(
            "rule {}: {} packets, {} distinct ones passed it",
            rule.name(),
            report.coverage.packets,
            report.findings.len()
        );
        all.coverage.add(&report.coverage);
        all.findings.extend(report.findings);
        all.elapsed += report.elapsed;
    }
    all.coverage.name_hits(&Grammar::new(plan.flavor));
    Ok(Some(all))
}

/// A worker of its own on a prepared server, for tests of the evidence.
pub fn single_worker(server: &Server, flavor: Flavor, through: Through) -> Result<Worker> {
    let address = address(server);
    let mut judge = Client::connect(&address, "judge", None)?;
    world::prepare_server(&mut judge, flavor)?;
    if matches!(through, Through::Proxy(..)) {
        world::create(&mut judge, flavor, SINGLE)?;
    }
    let data = server.data_dir().to_owned();
    let place = Place { address, flavor, data, catalogue: Catalogue::Unknown, through, workers: 1 };
    Worker::start(&place, SINGLE)
}

/// The number of a worker of its own.
const SINGLE: usize = 9;

/// Users and schemas, for the proxy's controls.
fn prepare(server: &Server, plan: &Plan) -> Result<()> {
    let mut judge = Client::connect(&address(server), "judge", None)?;
    world::prepare_server(&mut judge, plan.flavor)?;
    (0..plan.workers).try_for_each(|worker| world::create(&mut judge, plan.flavor, worker))
}

fn run_through(server: &Server, plan: Plan, through: Through) -> Result<Report> {
    let address = address(server);
    let mut judge = Client::connect(&address, "judge", None)?;
    if matches!(through, Through::Directly) {
        world::prepare_server(&mut judge, plan.flavor)?;
    }
    let data = server.data_dir().to_owned();
    let (flavor, catalogue, workers) = (plan.flavor, plan.catalogue, plan.workers);
    let place = Place { address, flavor, data, catalogue, through, workers };
    let started = Instant::now();
    let shared = Shared {
        place,
        grammar: Grammar::new(plan.flavor),
        corpus: corpus::load(&corpus::folder())?,
        next: AtomicU64::new(0),
        coverage: Mutex::default(),
        findings: Mutex::default(),
        signatures: Mutex::default(),
        plan,
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..shared.plan.workers)
            .map(|number| {
                scope.spawn({
                    let shared = &shared;
                    move || work(shared, number)
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
            .collect::<Result<Vec<()>>>()
    })?;
    let Shared { coverage, findings, grammar, .. } = shared;
    let mut coverage = coverage.into_inner().map_err(|_| anyhow!("a worker panicked"))?;
    coverage.name_hits(&grammar);
    let findings = findings.into_inner().map_err(|_| anyhow!("a worker panicked"))?;
    Ok(Report { coverage, findings, elapsed: started.elapsed() })
}

fn work(shared: &Shared, number: usize) -> Result<()> {
    let mut worker = Worker::start(&shared.place, number).with_context(|| format!("starting worker {number}"))?;
    let mut coverage = Coverage::default();
    if number == 0 {
        for (name, case) in &shared.corpus {
            batch(shared, &mut worker, &mut coverage, vec![case.clone()], Some(name))?;
        }
    }
    let seeds: Vec<Case> = shared.corpus.iter().map(|(_, case)| case.clone()).collect();
    // DDL costs a new schema, so packets that may be some run together.
    let size = batch_size(&shared.place.through);
    let (mut usual, mut ddl) = (Vec::new(), Vec::new());
    loop {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        let ended = index >= shared.plan.packets;
        if !ended {
            let mut random = Random::new(shared.plan.seed ^ index.wrapping_mul(0xD6E8_FEB8_6659_FD93));
            let (case, used, decoration) = shared.grammar.generate(&mut random, &seeds);
            coverage.generated(&case, &used, decoration);
            if case.packets().any(may_be_ddl) { ddl.push(case) } else { usual.push(case) }
        }
        for cases in [&mut usual, &mut ddl] {
            if cases.len() >= size || (ended && !cases.is_empty()) {
                batch(shared, &mut worker, &mut coverage, std::mem::take(cases), None)?;
            }
        }
        if ended {
            break;
        }
    }
    if shared.plan.verbose {
        eprintln!("worker {number}: {:?}", worker.spent);
    }
    shared.coverage.lock().map_err(|_| anyhow!("a worker panicked"))?.add(&coverage);
    Ok(())
}

/// Only for speed: what is not recognised costs a new schema for its own batch.
fn may_be_ddl(text: &[u8]) -> bool {
    let text = text.to_ascii_uppercase();
    ["CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME", "PD()"]
        .iter()
        .any(|word| text.windows(word.len()).any(|part| part == word.as_bytes()))
}

fn batch(
    shared: &Shared,
    worker: &mut Worker,
    coverage: &mut Coverage,
    cases: Vec<Case>,
    origin: Option<&String>,
) -> Result<()> {
    let outcomes = worker.run(&cases)?;
    coverage.packets += cases.len() as u64;
    let mut suspects = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        match &outcome.happened {
            Some(happened) => coverage.happened(happened),
            None => coverage.unjudged += 1,
        }
        if let Some(reading) = &outcome.reading {
            coverage.read(reading);
        }
        for failure in outcome.failures {
            if let Some(name) = known(case, &failure) {
                *coverage.known.entry(name.to_owned()).or_default() += 1;
                continue;
            }
            *coverage.failures.entry(format!("{:?}", failure.kind)).or_default() += 1;
            let names = outcome.happened.as_ref().map(|happened| happened.top_names().join(" ")).unwrap_or_default();
            if is_example(shared, failure.kind, &names, case, origin)? {
                suspects.push((case.clone(), failure));
            }
        }
    }
    for (case, failure) in suspects {
        let Some((small, failure)) = minimize(worker, &case, failure.kind)? else {
            let text = case.shown();
            println!("once only: {:?} [{}] {text}\n    {}", failure.kind, case.setup.charset, failure.detail);
            continue;
        };
        let finding = Finding { case: small, failure, origin: origin.cloned() };
        let mut findings = shared.findings.lock().map_err(|_| anyhow!("a worker panicked"))?;
        let is_new = findings
            .iter()
            .all(|other| other.failure.kind != finding.failure.kind || shape(&other.case) != shape(&finding.case));
        // Made small, it may turn out to be one that is known.
        if !is_new || known(&finding.case, &finding.failure).is_some() {
            continue;
        }
        if let (Some(folder), None) = (&shared.plan.keep, origin) {
            let flavor = shared.plan.flavor.key();
            let prefix = format!("{flavor}-{:?}", finding.failure.kind).to_lowercase();
            let comment = format!("{:?}: {}", finding.failure.kind, finding.failure.detail);
            corpus::keep(folder, &prefix, &finding.case, &comment)?;
        }
        println!(
            "milder: {:?} [{} {}] {}\n    {}",
            finding.failure.kind,
            finding.case.setup.charset,
            finding.case.setup.sql_mode,
            finding.case.shown(),
            finding.failure.detail
        );
        findings.push(finding);
    }
    Ok(())
}

/// Whether enough of this kind, by what ran, were made small already.
fn is_example(shared: &Shared, kind: Kind, names: &str, case: &Case, origin: Option<&String>) -> Result<bool> {
    if origin.is_some() {
        return Ok(true);
    }
    // These two concern any statements at all, so what ran does not tell them apart.
    let several = if names.contains(' ') { "several" } else { "one" };
    let names = if matches!(kind, Kind::Fingerprint | Kind::ClaimedLock) { several } else { names };
    let signature = format!("{kind:?} {names} {:?}", case.protocol);
    let mut signatures = shared.signatures.lock().map_err(|_| anyhow!("a worker panicked"))?;
    let by_kind = signatures.entry(format!("{kind:?}")).or_default();
    *by_kind += 1;
    if *by_kind > shared.plan.examples * 20 {
        return Ok(false);
    }
    let count = signatures.entry(signature).or_default();
    *count += 1;
    Ok(*count <= shared.plan.examples)
}

/// A packet without its digits and the case of its letters, to tell equal findings.
fn shape(case: &Case) -> Vec<u8> {
    let packets: Vec<&[u8]> = case.packets().collect();
    packets.join(&0).iter().filter(|byte| !byte.is_ascii_digit()).map(u8::to_ascii_lowercase).collect()
}
