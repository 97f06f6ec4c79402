//! What the catalogue shows to users with less and with more privileges.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use catalog::{Access, Catalog};
use probes::{CatalogueSeen, CatalogueSettings, Login, Secret, read_catalogue, watch_catalogue};
use sandbox::Server;
use statement::Table;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::harness::endpoint;

const SCHEMA: &str = "probe_catalogue";

fn make(server: &Server) -> Result<()> {
    for sql in [
        "DROP DATABASE IF EXISTS probe_catalogue",
        "CREATE DATABASE probe_catalogue",
        "CREATE TABLE probe_catalogue.secret (id INT)",
        "CREATE TABLE probe_catalogue.pub (id INT)",
        "CREATE VIEW probe_catalogue.v AS SELECT id FROM probe_catalogue.secret",
        "CREATE FUNCTION probe_catalogue.f() RETURNS INT DETERMINISTIC READS SQL DATA \
         RETURN (SELECT COUNT(*) FROM probe_catalogue.secret)",
        "CREATE TRIGGER probe_catalogue.t BEFORE INSERT ON probe_catalogue.pub FOR EACH ROW \
         INSERT INTO probe_catalogue.secret VALUES (1)",
    ] {
        server.root_sql(sql)?;
    }
    Ok(())
}

/// The catalogue as a user with these privileges sees it.
async fn seen_with(server: &Server, grants: &[&str]) -> Result<Catalog> {
    server.root_sql("DROP USER IF EXISTS looker@'%'")?;
    server.root_sql("CREATE USER looker@'%' IDENTIFIED BY 'looker-pw'")?;
    for grant in grants {
        server.root_sql(&format!("GRANT {grant} TO looker@'%'"))?;
    }
    let login = Login { user: "looker".into(), password: Secret::new("looker-pw") };
    read_catalogue(&endpoint(server), &login).await.map_err(|error| anyhow!(error))
}

fn table(name: &str) -> Table {
    Table { schema: Some(SCHEMA.into()), name: name.into() }
}

/// What is known, as letters: the tables of the view (v) and of the trigger (t), those of the function (r); small where
/// a name or a body is unknown instead, and a dash where the answer is wrong.
fn letters(catalog: &Catalog) -> String {
    let secret = table("secret");
    let letter = |found: &catalog::Expansion<'_>, known: char| {
        if found.tables.contains(&secret) && !found.unknown_names && !found.calls_unknown {
            known.to_ascii_uppercase()
        } else if found.unknown_names || found.calls_unknown {
            known
        } else {
            '-'
        }
    };
    let (view, public) = ([table("v")], [table("pub")]);
    [
        letter(&catalog.tables_behind(&view, None, Access::Read), 'v'),
        letter(&catalog.tables_behind(&public, None, Access::Write), 't'),
        letter(&catalog.routines_behind(&BTreeSet::from([table("f")]), None), 'r'),
    ]
    .into_iter()
    .collect()
}

async fn check(server: &Server, cases: &[(&[&str], &str, usize)]) -> Result<()> {
    make(server)?;
    for (grants, expected, unseen) in cases {
        let catalog = seen_with(server, grants).await?;
        assert_eq!(letters(&catalog), *expected, "{grants:?}: {:?}", catalog.unseen());
        assert_eq!(catalog.unseen().len(), *unseen, "{grants:?}: {:?}", catalog.unseen());
    }
    Ok(())
}

const ALL_VIEWS: &str = "SELECT, SHOW VIEW ON *.*";
const OF_SCHEMA: &str = "SELECT, SHOW VIEW, TRIGGER ON probe_catalogue.*";

#[tokio::test]
async fn mysql_shows_what_is_granted_and_the_rest_is_unknown() -> Result<()> {
    let server = &sandbox::mysql_shared()?.primary;
    let cases: &[(&[&str], &str, usize)] = &[
        (&[], "vtr", 4),
        (&["SHOW VIEW ON *.*"], "vtr", 3),
        (&["SELECT ON *.*"], "vtR", 2),
        (&[ALL_VIEWS], "VtR", 1),
        (&["TRIGGER ON *.*"], "vTr", 2),
        (&["SHOW_ROUTINE ON *.*"], "vtr", 3),
        (&["EXECUTE ON *.*", "EVENT ON *.*"], "vtr", 4),
        (&[OF_SCHEMA], "VTr", 4),
        (&[ALL_VIEWS, "TRIGGER ON *.*"], "VTR", 0),
    ];
    check(server, cases).await
}

#[tokio::test]
async fn mariadb_shows_what_is_granted_and_the_rest_is_unknown() -> Result<()> {
    let server = sandbox::mariadb_shared()?;
    let cases: &[(&[&str], &str, usize)] = &[
        (&[], "vtr", 4),
        (&["SHOW VIEW ON *.*"], "vtr", 3),
        (&["SELECT ON *.*"], "vtR", 2),
        (&[ALL_VIEWS], "VtR", 1),
        (&["TRIGGER ON *.*"], "vTr", 2),
        (&["SELECT ON mysql.proc"], "vtr", 3),
        (&[ALL_VIEWS, "TRIGGER ON *.*"], "VTR", 0),
    ];
    check(server, cases).await
}

/// A connection keeps the global privileges that it began with, while SHOW GRANTS prints the new ones.
#[tokio::test]
async fn granted_later_is_seen_on_a_new_connection() -> Result<()> {
    for server in [&sandbox::mysql_shared()?.primary, sandbox::mariadb_shared()?] {
        for sql in [
            "DROP DATABASE IF EXISTS probe_granted",
            "CREATE DATABASE probe_granted",
            "CREATE TABLE probe_granted.t (id INT)",
            "DROP USER IF EXISTS later@'%'",
            "CREATE USER later@'%' IDENTIFIED BY 'looker-pw'",
        ] {
            server.root_sql(sql)?;
        }
        let settings = CatalogueSettings {
            upstream: endpoint(server),
            login: Login { user: "later".into(), password: Secret::new("looker-pw") },
            interval: Duration::from_millis(100),
        };
        let (sender, mut snapshots) = watch::channel(CatalogueSeen::unknown());
        let watching = tokio::spawn(watch_catalogue(settings, Arc::new(Notify::new()), sender));
        timeout(PATIENCE, snapshots.wait_for(|seen| seen.catalog.is_known())).await??;
        server.root_sql("GRANT SELECT, SHOW VIEW, TRIGGER ON *.* TO later@'%'")?;
        let seen = timeout(PATIENCE, snapshots.wait_for(|seen| seen.catalog.unseen().is_empty())).await??;
        let tables = [Table { schema: Some("probe_granted".into()), name: "t".into() }];
        assert!(!seen.catalog.tables_behind(&tables, None, Access::Read).unknown_names, "{:?}", seen.catalog.counts());
        drop(seen);
        watching.abort();
    }
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(30);
