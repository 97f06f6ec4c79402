//! `tollgate check`: the file as the proxy would read it.

use std::path::Path;
use std::process::ExitCode;

pub(crate) fn check(path: &Path) -> anyhow::Result<ExitCode> {
    match config::check(path) {
        Ok(report) => {
            println!("{report}");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("{error}");
            Ok(ExitCode::FAILURE)
        }
    }
}
