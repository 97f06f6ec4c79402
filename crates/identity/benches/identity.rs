//! What it costs to know who asks: `cargo bench -p identity [-- words]`. Prints nanoseconds a call, the best of several
//! rounds, of those whose name has the words in it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use identity::{Clients, Connection, Name, Settings, of_connection, of_query, read_comments};

const ROUNDS: usize = 20;
const ROUND: Duration = Duration::from_millis(10);

const SQLCOMMENTER: &[u8] = b" /*action='%2Fpolls%2F%3Cid%3E',application='shop',controller='orders',\
    framework='django%3A4.2',traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01'*/";
const MARGINALIA: &[u8] = b" /*application:Shop,controller:orders,action:show*/";

fn main() {
    let nothing = || read_comments(black_box(b""), black_box(b""), black_box(None)).is_empty();
    time("read_comments, none", nothing);
    time("read_comments, ` ;`", || read_comments(black_box(b""), black_box(b" ;"), None).is_empty());
    time("read_comments, prose", || read_comments(black_box(b"/* criteria query */ "), b"", None).is_empty());
    time("read_comments, gh-ost", || read_comments(b"", b"", black_box(Some(b" gh-ost `shop`.`orders` "))).is_empty());
    time("read_comments, Marginalia", || read_comments(b"", black_box(MARGINALIA), None).is_empty());
    time("read_comments, sqlcommenter", || read_comments(b"", black_box(SQLCOMMENTER), None).is_empty());
    time("read_comments and key, sqlcommenter", || read_comments(b"", black_box(SQLCOMMENTER), None).key());
    let attributes = [(&b"tenant"[..], &b"42"[..]), (b"job", b"nightly")];
    time("read_comments and key, two query attributes", || {
        read_comments(b"", b"", None).with_query_attributes(black_box(attributes)).key()
    });

    let settings = Settings::default();
    let pair = |key: &str, value: &str| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
    let connection = Connection {
        user: b"shop",
        address: Some([10, 1, 2, 3].into()),
        certificate: None,
        listener: &Arc::from("main"),
        attributes: &[pair("_client_name", "libmysql"), pair("_pid", "77"), pair("program_name", "unicorn")],
    };
    let identities = of_connection(&settings, &connection);
    let said = read_comments(b"", SQLCOMMENTER, None);
    time("of_connection", || of_connection(black_box(&settings), &connection));
    time("of_query, new", || of_query(&settings, &identities, black_box(&said)));
    let silent = read_comments(b"", b"", None);
    time("of_query, nothing said", || of_query(&settings, &identities, black_box(&silent)));

    let clients: Clients<u64> = Clients::default();
    let names: Vec<Name> = (0..2_000).map(|n| Name::new(&format!("worker-{n}:billing:shop"))).collect();
    for name in &names {
        clients.entry(b"shop", name, 0, || 0);
    }
    let mut turn = names.iter().cycle();
    time("Clients::entry, known", || turn.next().map(|name| clients.entry(b"shop", name, 1, || 0)));
    let mut number = 0;
    time("Clients::entry, a new name each time", || {
        number += 1;
        clients.entry(b"flood", &Name::new(&number.to_string()), 1, || 0)
    });
    println!("{:?}", clients.counts());
}

fn time<R>(what: &str, mut call: impl FnMut() -> R) {
    let is_wanted = |word: String| word.starts_with('-') || what.contains(&word);
    if !std::env::args().skip(1).all(is_wanted) {
        return;
    }
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (start, mut calls) = (Instant::now(), 0_u32);
        while start.elapsed() < ROUND {
            for _ in 0..100 {
                black_box(call());
            }
            calls += 100;
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(calls));
    }
    println!("{best:8.1} ns  {what}");
}
