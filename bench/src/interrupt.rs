//! Ctrl-C and SIGTERM end the run at the next moment where its children can be ended and its figures shown. A second
//! one ends it at once: the kernel ends the children and the sandbox's watcher the server.

use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Set once the run is to end. Cheap to clone and to ask.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from a thread of its own, since the rest of the program is synchronous.
    pub fn listen() -> Result<Self> {
        let interrupt = Self::default();
        let flag = interrupt.0.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
                else {
                    return;
                };
                loop {
                    tokio::select! { _ = int.recv() => {}, _ = term.recv() => {} }
                    if flag.swap(true, Ordering::Relaxed) {
                        std::process::exit(130);
                    }
                }
            });
        });
        Ok(interrupt)
    }

    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
