//! Whole files in, plans or printed errors out.

mod accepted;
mod documented;
mod refused;
mod surroundings;
mod warned;

use std::path::Path;

use crate::problem::{ConfigError, Problem};
use crate::warnings::Exposure;
use crate::{Plan, load};

/// Loads a text as proxy.yaml of the working folder, in an environment with nothing but `PASSWORD=from-env`.
fn load_text(text: &str) -> Result<(Plan, Vec<Problem>), ConfigError> {
    load::load(text, Path::new("proxy.yaml"), Exposure::Everyone, &|name| {
        (name == "PASSWORD").then(|| "from-env".into())
    })
}

#[track_caller]
fn plan(text: &str) -> Plan {
    match load_text(text) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("refused:\n{error}"),
    }
}
