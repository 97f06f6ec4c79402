//! `tollgate incident`: opening one can put a playbook's rules in force, closing it ends them.

mod close;
mod list;
mod open;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum IncidentCommand {
    /// Those that are open.
    List(list::List),
    /// Open an incident, with the rules of a playbook.
    Open(open::Open),
    /// Close an incident and end the rules that its playbook had put in force.
    Close(close::Close),
}

pub(crate) fn run(command: &IncidentCommand) -> anyhow::Result<ExitCode> {
    match command {
        IncidentCommand::List(list) => list.run(),
        IncidentCommand::Open(open) => open.run(),
        IncidentCommand::Close(close) => close.run(),
    }
}
