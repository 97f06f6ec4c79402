//! mysql_async, in its own process's runtime.

use mysql_async::prelude::*;
use mysql_async::{Conn, OptsBuilder, Row, SslOpts, TxOpts};
use sandbox::{APP, Flavor};

use super::{Tls, proxy};
use crate::harness::Tollgate;

fn options(tollgate: &Tollgate, tls: Tls) -> OptsBuilder {
    let accept_any = SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true);
    OptsBuilder::default()
        .ip_or_hostname(tollgate.address.ip().to_string())
        .tcp_port(tollgate.port())
        .user(Some(APP.user))
        .pass(Some(APP.password))
        .db_name(Some("test"))
        .prefer_socket(Some(false))
        .ssl_opts((tls == Tls::On).then_some(accept_any))
}

async fn exercise(tollgate: &Tollgate, tls: Tls) -> mysql_async::Result<()> {
    let mut conn = Conn::new(options(tollgate, tls)).await?;
    conn.ping().await?;

    conn.query_drop("CREATE TEMPORARY TABLE d_mysql_async (id INT PRIMARY KEY AUTO_INCREMENT, v LONGBLOB)").await?;
    let sum: Option<(i64, Option<String>, String)> = conn.query_first("SELECT 40 + 2, NULL, 'größer'").await?;
    assert_eq!(sum, Some((42, None, "größer".to_owned())));

    for n in 0..3u64 {
        let row: Option<(u64, String)> = conn.exec_first("SELECT ? + 1, ?", (n, format!("v{n}"))).await?;
        assert_eq!(row, Some((n + 1, format!("v{n}"))));
    }
    let typed: Option<Row> = conn.exec_first("SELECT ?, ?, ?", (1.5f64, "text", Option::<i32>::None)).await?;
    assert!(typed.is_some());

    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    transaction.query_drop("INSERT INTO d_mysql_async (v) VALUES ('gone')").await?;
    transaction.rollback().await?;
    let mut transaction = conn.start_transaction(TxOpts::default()).await?;
    transaction.query_drop("INSERT INTO d_mysql_async (v) VALUES ('kept')").await?;
    transaction.commit().await?;
    assert_eq!(conn.query_first("SELECT COUNT(*) FROM d_mysql_async").await?, Some(1));

    let mut results = conn.query_iter("SELECT 1; SELECT 2, 3; DO 0").await?;
    assert_eq!(results.collect::<i32>().await?, [1]);
    assert_eq!(results.collect::<(i32, i32)>().await?, [(2, 3)]);
    results.drop_result().await?;
    call(&mut conn, tls).await?;

    let large: Vec<u8> = (0..20 << 20).map(|n: u32| (n % 251) as u8).collect();
    conn.exec_drop("INSERT INTO d_mysql_async (v) VALUES (?)", (&large,)).await?;
    let back: Option<Vec<u8>> = conn.query_first("SELECT v FROM d_mysql_async ORDER BY id DESC LIMIT 1").await?;
    assert!(back.as_deref() == Some(large.as_slice()), "20 MiB came back changed");

    match conn.query_drop("SELEC 1").await {
        Err(mysql_async::Error::Server(error)) => assert_eq!((error.code, error.state.as_str()), (1064, "42000")),
        other => panic!("a syntax error: {other:?}"),
    }
    assert_eq!(conn.query_first("SELECT 7").await?, Some(7));

    cancel(tollgate, tls, &mut conn).await?;
    conn.reset().await?;
    conn.change_user(mysql_async::ChangeUserOpts::default()).await?;
    assert_eq!(conn.query_first("SELECT 8").await?, Some(8));
    conn.disconnect().await
}

/// A procedure's result sets and the OK behind them, over both protocols.
async fn call(conn: &mut Conn, tls: Tls) -> mysql_async::Result<()> {
    let name = format!("d_mysql_async_two_{tls:?}");
    conn.query_drop(format!("DROP PROCEDURE IF EXISTS {name}")).await?;
    let body = "BEGIN SELECT x, 'first'; SELECT x + 1 UNION ALL SELECT x + 2; END";
    conn.query_drop(format!("CREATE PROCEDURE {name}(x INT) {body}")).await?;

    let mut results = conn.query_iter(format!("CALL {name}(7)")).await?;
    assert_eq!(results.collect::<(i32, String)>().await?, [(7, "first".to_owned())]);
    assert_eq!(results.collect::<i32>().await?, [8, 9]);
    assert!(results.collect::<i32>().await?.is_empty(), "the OK of the CALL itself");
    assert!(results.is_empty());
    results.drop_result().await?;

    for x in [20, 30] {
        let mut results = conn.exec_iter(format!("CALL {name}(?)"), (x,)).await?;
        assert_eq!(results.collect::<(i32, String)>().await?, [(x, "first".to_owned())]);
        assert_eq!(results.collect::<i32>().await?, [x + 1, x + 2]);
        results.drop_result().await?;
    }
    assert_eq!(conn.query_first("SELECT 5").await?, Some(5));
    conn.query_drop(format!("DROP PROCEDURE {name}")).await
}

/// KILL QUERY from a second connection, by the id that the driver was greeted with.
async fn cancel(tollgate: &Tollgate, tls: Tls, conn: &mut Conn) -> mysql_async::Result<()> {
    let id = conn.id();
    let mut killer = Conn::new(options(tollgate, tls)).await?;
    let sleeping = conn.query_first::<i32, _>("SELECT SLEEP(30) FROM (SELECT 1) d");
    let killing = async {
        // The statement may not have begun; a KILL that comes too early does nothing.
        loop {
            killer.query_drop(format!("KILL QUERY {id}")).await?;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::pin!(sleeping);
    let slept = tokio::select! {
        slept = &mut sleeping => slept,
        error = killing => { let error: mysql_async::Result<()> = error; return error; }
    };
    // SLEEP says 1 when it was interrupted; servers may also end the statement with 1317.
    match slept {
        Ok(value) => assert_eq!(value, Some(1)),
        Err(mysql_async::Error::Server(error)) => assert_eq!(error.code, 1317),
        Err(error) => return Err(error),
    }
    killer.disconnect().await
}

#[test]
fn mysql_async_driver() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        for tls in [Tls::Off, Tls::On] {
            let tollgate = proxy(flavor, tls);
            let done = runtime.block_on(exercise(&tollgate, tls));
            done.unwrap_or_else(|error| panic!("{flavor:?}, TLS {tls:?}: {error}"));
        }
    }
}
