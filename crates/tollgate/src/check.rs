//! `tollgate check`: the file as the proxy would read it and, on request, what the server would show to the proxy's user.

use std::path::Path;
use std::process::ExitCode;

use config::Plan;

use crate::probe_settings::{endpoint, login};

/// Whether `check` asks the server too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    FileOnly,
    ServerToo,
}

pub(crate) fn check(path: &Path, ask: Ask) -> anyhow::Result<ExitCode> {
    match config::check(path) {
        Ok(report) => {
            println!("{report}");
            match ask {
                Ask::FileOnly => Ok(ExitCode::SUCCESS),
                Ask::ServerToo => connect(&report.plan),
            }
        }
        Err(error) => {
            eprintln!("{error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Says what the server's catalogue does not show. That is a warning; a server that does not answer is a failure.
fn connect(plan: &Plan) -> anyhow::Result<ExitCode> {
    let Some(probe) = &plan.probe else {
        println!("\nwarning: there is no `probe`: rules on tables do not see through views, routines and triggers");
        return Ok(ExitCode::SUCCESS);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let read = runtime.block_on(probes::read_catalogue(&endpoint(&plan.upstream), &login(probe)));
    let catalog = match read {
        Ok(catalog) => catalog,
        Err(error) => {
            eprintln!("the catalogue of {} cannot be read: {error}", plan.upstream.address);
            return Ok(ExitCode::FAILURE);
        }
    };
    let (tables, views, routines) = catalog.counts();
    println!("\ncatalogue of {}: {tables} tables and views, {views} views, {routines} routines", plan.upstream.address);
    match runtime.block_on(probes::hidden_session_settings(&endpoint(&plan.upstream), &login(probe))) {
        Ok(settings) => {
            for setting in settings {
                println!(
                    "warning: {setting}: the proxy cannot see which sql_mode or character set a session begins with, and a \
                     client may use that against rules; see docs/threat-model.md"
                );
            }
        }
        Err(error) => println!("warning: the server's settings for new sessions cannot be read: {error}"),
    }
    for unseen in catalog.unseen() {
        println!("warning: {} cannot see {unseen}; `tollgate grants` prints what it needs", probe.user);
    }
    Ok(ExitCode::SUCCESS)
}
