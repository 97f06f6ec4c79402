//! Custom metrics and every odd answer to them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use health::{BuiltIn, Reading, Unknown};
use probes::{Ask, CustomMetric, On};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::harness::{cluster, endpoint, of_cluster, settings, start};

fn metric(index: usize, ask: Ask) -> CustomMetric {
    let interval = Duration::from_millis(100);
    CustomMetric { name: format!("custom_{index}").into(), ask, interval, timeout: Duration::from_secs(1) }
}

#[tokio::test]
async fn sql_gives_one_number_or_says_why_not() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let secrets = "CREATE TABLE IF NOT EXISTS test.secret (a INT); CREATE TABLE IF NOT EXISTS toll_gate.secret (a INT)";
    cluster.primary.root_sql(secrets)?;
    let unknown = Reading::Unknown;
    let table = [
        ("SELECT 42", Reading::Value(42.0)),
        ("SELECT 1.50", Reading::Value(1.5)),
        ("SELECT 15e-1", Reading::Value(1.5)),
        ("SELECT '7'", Reading::Value(7.0)),
        ("SELECT 18446744073709551615", Reading::Value(18_446_744_073_709_551_615.0)),
        ("SELECT NULL", unknown(Unknown::Null)),
        ("SELECT 'twelve'", unknown(Unknown::NotANumber)),
        ("SELECT ''", unknown(Unknown::NotANumber)),
        ("SELECT NOW()", unknown(Unknown::NotANumber)),
        ("SELECT UNHEX('FF')", unknown(Unknown::NotANumber)),
        ("SELECT -1", unknown(Unknown::Negative)),
        ("SELECT 1 FROM DUAL WHERE FALSE", unknown(Unknown::NoRow)),
        ("DO 1", unknown(Unknown::NoRow)),
        ("SELECT 1 UNION ALL SELECT 2", unknown(Unknown::SeveralRows)),
        ("SELECT 1, 2", unknown(Unknown::SeveralRows)),
        ("SELECT 1; SELECT 2", unknown(Unknown::SeveralRows)),
        ("SELEKT 1", unknown(Unknown::Failed)),
        ("SELECT COUNT(*) FROM test.secret", unknown(Unknown::Denied)),
        // Where the heartbeat's table is too.
        ("SELECT COUNT(*) FROM toll_gate.secret", unknown(Unknown::Denied)),
        ("INSERT INTO toll_gate.heartbeat VALUES ('x', 1, 1, NOW())", unknown(Unknown::Failed)),
        ("SELECT REPEAT('1', 2000000)", unknown(Unknown::Failed)),
        ("SELECT BENCHMARK(1000000000000, SHA2('a', 512))", unknown(Unknown::TimedOut)),
    ];
    let primary = endpoint(&cluster.primary);
    let mut running = start(of_cluster(cluster, None));
    let sql = |sql: &str, on| Ask::Sql { sql: sql.into(), on };
    let asked = table.iter().enumerate().map(|(index, (statement, _))| metric(index, sql(statement, On::Primary)));
    running.custom.send(Arc::new(asked.collect()))?;
    for (index, (statement, reading)) in table.into_iter().enumerate() {
        // A loaded machine may be late where it should not.
        let (name, server) = (format!("custom_{index}"), primary.name());
        let told = running.report(&name, &server, |report| {
            reading == unknown(Unknown::TimedOut) || report.reading != unknown(Unknown::TimedOut)
        });
        assert_eq!(told.await?.reading, reading, "{statement}");
    }
    // One that hangs holds up neither the others for good nor the built-in sample.
    let hangs = metric(90, sql("SELECT SLEEP(3600)", On::Replicas));
    let fine = metric(91, sql("SELECT @@port", On::Replicas));
    running.custom.send(Arc::new(vec![hangs, fine]))?;
    let replica = endpoint(&cluster.replica).name();
    let told = running.report("custom_91", &replica, |report| report.reading != unknown(Unknown::TimedOut)).await?;
    assert_eq!(told.reading, Reading::Value(f64::from(cluster.replica.port())));
    let told = running.report("custom_90", &replica, |_| true).await?;
    // The server ends it at the same time as we do: SLEEP then gives 1 in place of an error, which is no value.
    assert_eq!(told.reading, unknown(Unknown::TimedOut));
    running.value(BuiltIn::ThreadsRunning, &primary).await?;
    running.lag_is_known(&cluster.replica).await?;
    Ok(())
}

/// Answers every request with these bytes, whatever it was; with none it never answers.
async fn page(answer: &'static [u8]) -> Result<(String, tokio::task::JoinHandle<()>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/lag?of=x", listener.local_addr()?);
    let serving = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let _ = client.read(&mut [0; 1024]).await;
            let _ = client.write_all(answer).await;
            if answer.is_empty() {
                open.push(client);
            }
        }
    });
    Ok((url, serving))
}

#[tokio::test]
async fn a_page_gives_one_number_or_says_why_not() -> Result<()> {
    let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    let mut running = start(settings(crate::harness::port(free), vec![], None));
    let unknown = Reading::Unknown;
    let table: [(&[u8], Reading); 10] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n 4.5\n", Reading::Value(4.5)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n4\r\n1\r\n2\r\n0\r\n\r\n", Reading::Value(42.0)),
        (b"HTTP/1.0 200 OK\r\n\r\n7", Reading::Value(7.0)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", unknown(Unknown::NotANumber)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n-1", unknown(Unknown::Negative)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", unknown(Unknown::NotANumber)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n1", unknown(Unknown::Failed)),
        (b"HTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\n1", unknown(Unknown::Failed)),
        (b"HTTP/1.1 401 No\r\nContent-Length: 1\r\n\r\n1", unknown(Unknown::Denied)),
        (b"\x4a\x00\x00\x00\x0a8.0.36\x00", unknown(Unknown::Failed)),
    ];
    let mut cases = Vec::new();
    for (answer, reading) in table {
        cases.push((page(answer).await?, reading));
    }
    let done = || tokio::spawn(std::future::ready(()));
    cases.push((page(b"").await?, unknown(Unknown::TimedOut)));
    cases.push(((format!("http://127.0.0.1:{free}/"), done()), unknown(Unknown::Unreachable)));
    cases.push((("https://127.0.0.1/".into(), done()), unknown(Unknown::Unsupported)));
    cases.push((("no address".into(), done()), unknown(Unknown::Failed)));
    for (index, ((url, serving), reading)) in cases.into_iter().enumerate() {
        running.custom.send(Arc::new(vec![metric(index, Ask::Http { url: url.clone() })]))?;
        let name = format!("custom_{index}");
        let told = running.event(&name, |event| match event {
            probes::Event::Report(report) if *report.metric == *name => Some(report.reading),
            _ => None,
        });
        assert_eq!(told.await?, reading, "{index}: {url}");
        serving.abort();
    }
    Ok(())
}
