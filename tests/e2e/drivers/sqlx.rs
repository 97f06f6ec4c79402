//! sqlx, which prepares everything it can and pools its connections.

use futures_util::{TryStream, TryStreamExt};
use sandbox::{APP, Flavor};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlQueryResult, MySqlRow, MySqlSslMode};
use sqlx::{AssertSqlSafe, Connection, Either, Executor, MySqlConnection, Row};

use super::{Tls, proxy};
use crate::harness::Tollgate;

async fn exercise(tollgate: &Tollgate, tls: Tls) -> Result<(), sqlx::Error> {
    let options = MySqlConnectOptions::new()
        .host(&tollgate.address.ip().to_string())
        .port(tollgate.port())
        .username(APP.user)
        .password(APP.password)
        .database("test")
        .ssl_mode(match tls {
            Tls::Off => MySqlSslMode::Disabled,
            Tls::On => MySqlSslMode::Required,
        });
    let pool = MySqlPoolOptions::new().max_connections(2).connect_with(options).await?;
    let mut conn = pool.acquire().await?;
    conn.ping().await?;
    conn.execute("CREATE TEMPORARY TABLE d_sqlx (id INT PRIMARY KEY AUTO_INCREMENT, v LONGBLOB)").await?;

    for n in 0..3i64 {
        let row =
            sqlx::query("SELECT ? + 1, ?, NULL").bind(n).bind(format!("größer {n}")).fetch_one(&mut *conn).await?;
        assert_eq!(row.get::<String, _>(1), format!("größer {n}"));
    }
    let rows = sqlx::query("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3").fetch_all(&mut *conn).await?;
    assert_eq!(rows.len(), 3);

    let mut transaction = conn.begin().await?;
    sqlx::query("INSERT INTO d_sqlx (v) VALUES ('gone')").execute(&mut *transaction).await?;
    transaction.rollback().await?;
    let mut transaction = conn.begin().await?;
    let inserted = sqlx::query("INSERT INTO d_sqlx (v) VALUES ('kept')").execute(&mut *transaction).await?;
    assert_eq!(inserted.rows_affected(), 1);
    transaction.commit().await?;

    call(&mut conn, tls).await?;

    let large: Vec<u8> = (0..20u32 << 20).map(|n| (n % 251) as u8).collect();
    sqlx::query("INSERT INTO d_sqlx (v) VALUES (?)").bind(&large).execute(&mut *conn).await?;
    let back = sqlx::query("SELECT v FROM d_sqlx ORDER BY id DESC LIMIT 1").fetch_one(&mut *conn).await?;
    assert!(back.get::<Vec<u8>, _>(0) == large, "20 MiB came back changed");

    let error = conn.execute("SELEC 1").await.expect_err("a syntax error");
    assert_eq!(
        error.as_database_error().and_then(|error| error.code().map(|code| code.into_owned())).as_deref(),
        Some("42000")
    );
    let row = sqlx::query("SELECT CAST(7 AS SIGNED)").fetch_one(&mut *conn).await?;
    assert_eq!(row.get::<i64, _>(0), 7);
    drop(conn);
    pool.close().await;
    Ok(())
}

/// A procedure's result sets and the OK behind them, over both protocols.
async fn call(conn: &mut MySqlConnection, tls: Tls) -> Result<(), sqlx::Error> {
    let name = format!("d_sqlx_two_{tls:?}");
    let body = "BEGIN SELECT x, 'first'; SELECT x + 1 UNION ALL SELECT x + 2; END";
    let drop = format!("DROP PROCEDURE IF EXISTS {name}");
    for sql in [&drop, &format!("CREATE PROCEDURE {name}(x INT) {body}")] {
        sqlx::raw_sql(AssertSqlSafe(sql.as_str())).execute(&mut *conn).await?;
    }
    let as_text = sqlx::raw_sql(AssertSqlSafe(format!("SELECT CAST(1 AS SIGNED); CALL {name}(7); DO 1")));
    assert_eq!(result_sets(as_text.fetch_many(&mut *conn)).await?, [vec![1], vec![7], vec![8, 9], vec![], vec![]]);
    for x in [20, 30] {
        let prepared = sqlx::query(AssertSqlSafe(format!("CALL {name}(?)"))).bind(x);
        let sets = result_sets(conn.fetch_many(prepared)).await?;
        assert_eq!(sets, [vec![x], vec![x + 1, x + 2], vec![]]);
    }
    let row = sqlx::query("SELECT CAST(5 AS SIGNED)").fetch_one(&mut *conn).await?;
    assert_eq!(row.get::<i64, _>(0), 5);
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *conn).await?;
    Ok(())
}

/// The first column of each result set; one without rows is an OK.
async fn result_sets(
    mut replies: impl TryStream<Ok = Either<MySqlQueryResult, MySqlRow>, Error = sqlx::Error> + Unpin,
) -> Result<Vec<Vec<i64>>, sqlx::Error> {
    let (mut sets, mut rows) = (Vec::new(), Vec::new());
    while let Some(reply) = replies.try_next().await? {
        match reply {
            // INT from the procedure's parameter, BIGINT from what was added to it.
            Either::Right(row) => rows.push(row.try_get_unchecked(0)?),
            Either::Left(_) => sets.push(std::mem::take(&mut rows)),
        }
    }
    Ok(sets)
}

#[test]
fn sqlx_driver() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        for tls in [Tls::Off, Tls::On] {
            let tollgate = proxy(flavor, tls);
            let done = runtime.block_on(exercise(&tollgate, tls));
            done.unwrap_or_else(|error| panic!("{flavor:?}, TLS {tls:?}: {error}"));
        }
    }
}
