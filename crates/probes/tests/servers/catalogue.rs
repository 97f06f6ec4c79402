//! What the catalogue shows to users with less and with more privileges.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use catalog::{Access, Catalog};
use probes::{Login, Secret, read_catalogue};
use sandbox::Server;
use statement::Table;

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
