//! `tollgate health`: asks a running proxy's HTTP port how it is, for container engines whose images have no `curl`.
//!
//! It reads proxy.yaml only if it is told to: a file that was broken after the start says nothing about the proxy that runs.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;

use crate::http::{self, Bounds, Method};

/// The answer needs no work on the other side.
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(4), size: 64 * 1024 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Should clients be sent here?
    Ready,
    /// Does the process answer?
    Live,
}

pub(crate) fn health(address: SocketAddr, question: Question) -> anyhow::Result<ExitCode> {
    let path = match question {
        Question::Ready => "/readyz",
        Question::Live => "/livez",
    };
    let answer = http::ask(address, Method::Get, path, None, BOUNDS)?;
    let text = answer.body.trim();
    if answer.status == 200 {
        println!("{text}");
        Ok(ExitCode::SUCCESS)
    } else {
        bail!("{text} (HTTP status {})", answer.status);
    }
}
