#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tollgate::cli::main()
}
