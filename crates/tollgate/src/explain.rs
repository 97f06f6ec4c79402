//! `tollgate explain`: what would become of a query, and why; against a file, or as a running proxy would decide now.

mod answer;
mod question;
mod shown;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use config::Plan;
use serde_json::{Map, Value as Json, json};

pub(crate) use answer::answer;
pub(crate) use question::Question;

use crate::pair::Pair;
use crate::print::Output;
use crate::running::Where;
use crate::steering;

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The statement.
    sql: String,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    session: Session,
    /// Ask a running proxy, by its `admin.http` [default: 127.0.0.1:6034].
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    http: Option<std::net::SocketAddr>,
    /// Ask this file instead: what would be decided if it were in force.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Who asks")]
struct Who {
    #[arg(long)]
    user: String,
    /// Where it comes from; without it, from a Unix socket.
    #[arg(long)]
    address: Option<std::net::IpAddr>,
    /// By which listener [default: the first].
    #[arg(long)]
    listener: Option<String>,
    /// The subject of its verified certificate.
    #[arg(long)]
    certificate: Option<String>,
    /// Of its connection, such as program_name=loader.
    #[arg(long, value_name = "KEY=VALUE")]
    attr: Vec<Pair>,
    /// Of this query.
    #[arg(long, value_name = "KEY=VALUE")]
    query_attr: Vec<Pair>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "In which session")]
struct Session {
    /// The schema in use.
    #[arg(long)]
    schema: Option<String>,
    /// The client's character set [default: utf8mb4].
    #[arg(long)]
    charset: Option<String>,
    /// In a transaction that has only read so far.
    #[arg(long)]
    in_transaction: bool,
    /// With autocommit=0.
    #[arg(long)]
    no_autocommit: bool,
    /// Under LOCK TABLES or another lock that others wait for.
    #[arg(long)]
    holds_locks: bool,
}

impl Explain {
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        let question = self.question();
        let answer = match &self.config {
            Some(path) => {
                let plan = Plan::from_file_alone(path)?;
                let keeper = steering::keeper_of_file(&plan);
                let asked = Question::read(&question, &plan).map_err(|wrong| anyhow::anyhow!(wrong))?;
                answer(&asked.explain(&keeper))
            }
            None => {
                let asked = Where::at(self.http).running()?.post("/explain", &question);
                asked.context("a running proxy was asked; to ask a file, name it with --config")?
            }
        };
        self.output.show(&answer, |style| shown::shown(&answer, style));
        Ok(ExitCode::SUCCESS)
    }

    fn question(&self) -> Json {
        let (who, session) = (&self.who, &self.session);
        json!({
            "sql": self.sql,
            "user": who.user,
            "address": who.address.map(|address| address.to_string()),
            "listener": who.listener,
            "certificate": who.certificate,
            "attrs": object(&who.attr),
            "query_attrs": object(&who.query_attr),
            "schema": session.schema,
            "charset": session.charset,
            "in_transaction": session.in_transaction,
            "autocommit": !session.no_autocommit,
            "holds_locks": session.holds_locks,
        })
    }
}

fn object(pairs: &[Pair]) -> Map<String, Json> {
    pairs.iter().map(|pair| (pair.key.clone(), json!(pair.value))).collect()
}
