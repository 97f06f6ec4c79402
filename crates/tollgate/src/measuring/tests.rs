use std::path::Path;

use health::{Scope, State, Work, board::Fresh};
use probes::{Ask, On};

use super::*;
use crate::proxy::Proxy;
use crate::steering::keeper_of_file;

const GATES: &str = "gates: { replication_lag: { threshold: 5s }, threads_running: { threshold: 40 } }\n";
const LAG: &str = "replication_lag";

/// As it is before its first look, in a proxy that nobody connects to.
fn measuring(state_dir: &Path) -> Measuring {
    measuring_for(GATES, state_dir)
}

fn measuring_for(gates: &str, state_dir: &Path) -> Measuring {
    let yaml = format!(
        "listen: 127.0.0.1:0\nupstream: {{ address: 127.0.0.1, replicas: [other] }}\n\
         probe: {{ user: tollgate, password: x }}\nstate_dir: {}\n{gates}",
        state_dir.display()
    );
    let plan = Plan::from_text(&yaml, Path::new("proxy.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let keeper = keeper_of_file(&plan);
    let proxy = Proxy::start(&plan, Arc::new(Arc::clone(&keeper))).unwrap();
    let traffic = Traffic::new(None, keeper.gates().in_flight(), Instant::now());
    Measuring {
        gates: Arc::clone(keeper.gates()),
        keeper,
        shared: Arc::clone(proxy.shared()),
        on_demotion: OnDemotion::Keep,
        board: Board::default(),
        log: WorkLog::default(),
        own: Own::default(),
        servers: BTreeMap::new(),
        traffic,
        pace: watch::channel(Pace::of_all(health::Settings::INTERVAL)).0,
        metrics: watch::channel(Arc::default()).0,
        custom: watch::channel(Custom::default()).1,
        asked_since: BTreeMap::new(),
        remembered: Remembered::open(&plan.state_dir),
        gate_log: GateLog::default(),
        published: None,
    }
}

fn work(transactions: f64) -> Work {
    Work { transactions, rows: 0.0 }
}

/// Without a heartbeat a replica that is so late is applying what was committed so long ago.
#[tokio::test]
async fn what_was_applied_follows_from_a_lag_that_no_heartbeat_tells() {
    let folder = tempfile::tempdir().unwrap();
    let mut measuring = measuring(folder.path());
    let start = Instant::now() + Duration::from_secs(60);
    let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
    for second in 0..10_u32 {
        measuring.log.note(at(second.into()), work(f64::from(100 * second)));
    }
    let beat = Some(work(7.0));
    for (metric, now, reading, told, applied) in [
        (LAG, 9.0, Reading::Value(0.0), None, Some(work(900.0))),
        (LAG, 9.1, Reading::Value(0.5), None, Some(work(800.0))),
        (LAG, 9.2, Reading::Value(4.1), None, Some(work(500.0))),
        // Before anything was noted: what is known of the beginning.
        (LAG, 9.3, Reading::Value(3600.0), None, Some(work(0.0))),
        // A heartbeat knows better.
        (LAG, 9.4, Reading::Value(4.0), beat, beat),
        ("threads_running", 9.5, Reading::Value(4.0), None, None),
    ] {
        let server = "replica".into();
        measuring.take_up(Event::Report(Report { metric: metric.into(), server, reading, at: at(now), applied: told }));
        let fresh = Fresh { now: at(now), stale_after: Duration::from_secs(5), not_before: None };
        let seen = measuring.board.replicas(metric, Scope::default(), fresh);
        assert_eq!(seen.iter().map(|replica| replica.applied).collect::<Vec<_>>(), [applied], "{metric} {reading:?}");
    }
}

/// Another primary has committed other things.
#[tokio::test]
async fn what_another_server_committed_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut measuring = measuring(folder.path());
    let start = Instant::now();
    measuring.log.note(start, work(100.0));
    measuring.take_up(Event::Changed(Change::Demoted));
    assert_eq!(measuring.log.at(start), None);
}

/// Whose question is another one is another metric, whatever its name: of the old one nothing stays, not even what comes later.
#[tokio::test]
async fn a_metric_that_asks_something_else_is_forgotten() {
    const GATE: &str = "gates: { level: { threshold: 10, on_stale: closed } }\n";
    let folder = tempfile::tempdir().unwrap();
    let sql = |sql: &str, on| Ask::Sql { sql: sql.to_owned(), on };
    let http = |url: &str| Ask::Http { url: url.to_owned() };
    let level = |ask: Ask, interval| CustomMetric {
        name: "level".into(),
        ask,
        interval: Duration::from_secs(interval),
        timeout: Duration::from_secs(1),
    };
    let one = || sql("SELECT 1", On::Primary);
    for (before, after, stays) in [
        (one(), vec![level(one(), 1)], true),
        (one(), vec![level(one(), 9)], true),
        (one(), vec![level(sql("SELECT 2", On::Primary), 1)], false),
        (one(), vec![level(sql("SELECT 1", On::Replicas), 1)], false),
        (http("http://a/"), vec![level(http("http://b/"), 1)], false),
        (one(), vec![], false),
    ] {
        let mut measuring = measuring_for(&format!("metrics: {{ level: {{ sql: SELECT 1 }} }}\n{GATE}"), folder.path());
        let custom = |metrics| Custom { metrics: Arc::new(metrics), units: BTreeMap::new() };
        let (sender, receiver) = watch::channel(custom(vec![level(before.clone(), 1)]));
        measuring.custom = receiver;
        measuring.take_up_custom();
        let asked = Instant::now();
        let answer = |server: &str, at| {
            let (metric, server, reading) = ("level".into(), server.into(), Reading::Value(3.0));
            Event::Report(Report { metric, server, reading, at, applied: None })
        };
        let seen = |measuring: &Measuring| {
            let lines = measuring.seen(Instant::now()).metrics.into_iter();
            lines.filter(|line| &*line.metric == "level").map(|line| line.server.to_string()).collect::<Vec<_>>()
        };
        let state = |measuring: &Measuring| measuring.gates.seen().first().map(|gate| gate.state);
        measuring.take_up(answer("old", asked));
        measuring.tick(asked);
        assert_eq!((seen(&measuring), state(&measuring)), (vec!["old".to_owned()], Some(State::Open)));

        sender.send(custom(after.clone())).unwrap();
        measuring.take_up_custom();
        // It had been asked before.
        measuring.take_up(answer("late", asked));
        measuring.tick(asked + Duration::from_secs(1));
        let (left, then) = if stays { (vec!["late", "old"], State::Open) } else { (vec![], State::Waking) };
        assert_eq!(seen(&measuring), left, "{before:?}, then {after:?}");
        assert_eq!(state(&measuring), Some(then), "{before:?}, then {after:?}");
        if !after.is_empty() {
            measuring.take_up(answer("new", Instant::now()));
            assert!(seen(&measuring).contains(&"new".to_owned()), "{after:?}");
        }
    }
}

/// What the replicas bear is kept while it runs, and told to the gates of the next one that starts in the same place.
#[tokio::test]
async fn what_is_borne_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let borne = |gates: &Gates| gates.borne().into_iter().map(|(gate, borne)| (gate.to_string(), borne));
    let mut first = measuring(folder.path());
    first.tick(start);
    // As if it had been seen.
    first.gates.remember(LAG, 750.0);
    first.tick(start + Duration::from_secs(31));

    let second = measuring(folder.path());
    let gates = Arc::clone(&second.gates);
    assert_eq!(borne(&gates).collect::<Vec<_>>(), [(LAG.to_owned(), 200.0)], "what anybody bears");
    let (_events, taken_up) = mpsc::channel(1);
    // It never ends by itself.
    assert!(tokio::time::timeout(Duration::ZERO, second.run(taken_up)).await.is_err());
    assert_eq!(borne(&gates).collect::<Vec<_>>(), [(LAG.to_owned(), 750.0)]);
}

/// A fine look at one metric asks for no other one, and what no gate is on is asked for each second.
#[tokio::test]
async fn each_metric_is_asked_for_as_often_as_a_gate_looks_at_it() {
    let folder = tempfile::tempdir().unwrap();
    for (gates, status, history, lag) in [
        ("", 1000, 5000, 1000),
        ("gates: { commit_delay: { threshold: 50ms }, queue_length: { threshold: 9 } }", 1000, 5000, 1000),
        ("gates: { replication_lag: { threshold: 5s } }", 1000, 5000, 250),
        ("gates: { replication_lag: { threshold: 1s }, threads_running: { threshold: 40 } }", 250, 5000, 100),
        ("gates: { replication_lag: { threshold: 1s, mode: warn } }", 1000, 5000, 100),
        ("gates: { replication_lag: { threshold: 1s, interval: 10s } }", 1000, 5000, 1000),
        ("gates: { lock_waits: { threshold: 9 } }", 250, 5000, 1000),
        ("gates: { connections_used: { threshold: 90%, interval: 50ms } }", 50, 5000, 1000),
        ("gates: { history_list_length: { threshold: 9000 } }", 1000, 1000, 1000),
        ("gates: { history_list_length: { threshold: 9000, interval: 100ms } }", 100, 100, 1000),
        ("gates: { load_average: { threshold: 4, interval: 200ms } }", 200, 5000, 1000),
    ] {
        let mut measuring = measuring_for(gates, folder.path());
        let ms = Duration::from_millis;
        let awake = Pace { status: ms(status), history: ms(history), lag: ms(lag), custom: ms(0), wakes: 0 };
        measuring.set_pace();
        assert_eq!(*measuring.pace.borrow(), awake, "{gates}");
        let long_ago = Instant::now().checked_sub(Duration::from_secs(3600)).unwrap();
        let idle = Some((Duration::from_secs(10), Duration::from_secs(7)));
        measuring.traffic = Traffic::new(idle, measuring.gates.in_flight(), long_ago);
        measuring.tick(Instant::now());
        assert_eq!(*measuring.pace.borrow(), Pace::of_all(Duration::from_secs(7)), "asleep, {gates}");
    }
}
