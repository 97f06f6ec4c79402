//! Certificates that change on disk are taken up without a restart.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use relay::shared::Shared;
use relay::tls::{Reload, TlsError};
use tokio::task::JoinError;
use tracing::{error, info};

/// A second after the files, at the most; a look costs a few calls of `stat`.
const INTERVAL: Duration = Duration::from_secs(1);

/// A look that takes longer is reported. The next one begins when it has returned, so that no threads pile up.
const DEADLINE: Duration = Duration::from_secs(5);

/// Watches the files of both legs, each for itself: one leg's hung mount does not keep the other's certificates old.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let client = Leg { name: "client", files: shared.client_tls.files().to_vec(), last_error: None };
    let upstream = Leg { name: "upstream", files: shared.upstream.tls.files().to_vec(), last_error: None };
    let of_client = Arc::clone(&shared);
    tokio::join!(
        client.watch(move || of_client.client_tls.reload_if_changed()),
        upstream.watch(move || shared.upstream.tls.reload_if_changed()),
    );
}

struct Leg {
    name: &'static str,
    files: Vec<PathBuf>,
    /// An error comes back at each look until it is mended; it is said once.
    last_error: Option<String>,
}

impl Leg {
    async fn watch(mut self, reload: impl Fn() -> Result<Reload, TlsError> + Clone + Send + 'static) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            if let Ok(result) = self.look(reload.clone()).await {
                self.say(result);
            }
        }
    }

    async fn look(
        &mut self,
        reload: impl Fn() -> Result<Reload, TlsError> + Send + 'static,
    ) -> Result<Result<Reload, TlsError>, JoinError> {
        let mut look = tokio::task::spawn_blocking(reload);
        match tokio::time::timeout(DEADLINE, &mut look).await {
            Ok(result) => result,
            Err(_) => {
                let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
                self.fail(format!("the file system does not answer (a hung mount?) for {}", files.join(", ")));
                look.await
            }
        }
    }

    fn say(&mut self, result: Result<Reload, TlsError>) {
        match result {
            Ok(Reload::Unchanged) => self.last_error = None,
            Ok(Reload::Reloaded) => {
                self.last_error = None;
                info!(leg = self.name, "certificates reloaded");
            }
            Err(problem) => self.fail(problem.to_string()),
        }
    }

    fn fail(&mut self, problem: String) {
        if self.last_error.as_ref() != Some(&problem) {
            error!(leg = self.name, %problem, "new certificates cannot be used; going on with the old ones");
        }
        self.last_error = Some(problem);
    }
}
