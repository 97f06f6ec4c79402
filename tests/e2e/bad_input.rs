//! Whatever either side sends: a clear error or a close, a counter, and nobody else notices.

mod commands;
mod crowds;
mod haproxy;
mod login;
mod sizes;
mod slow_readers;
mod upstream;

use sandbox::APP;

use crate::harness::{Raw, Tollgate, upstream, wait_until};

/// A proxy with a session that was there before, and must still work after.
struct Watched {
    tollgate: Tollgate,
    healthy: Raw,
}

impl Watched {
    fn before_mysql(yaml: &str) -> Watched {
        let mysql = sandbox::mysql_shared().expect("a MySQL");
        Watched::start(&format!("{}{yaml}", upstream(&mysql.primary)))
    }

    fn start(yaml: &str) -> Watched {
        let tollgate = Tollgate::start(yaml);
        let healthy = Raw::login(tollgate.address, APP);
        Watched { tollgate, healthy }
    }

    /// Meanwhile.
    fn is_healthy(&mut self) {
        assert_eq!(self.healthy.value("SELECT 40 + 2").as_deref(), Some("42"));
    }

    /// In the end: the others have left nothing behind.
    fn ends_undisturbed(mut self) {
        self.is_healthy();
        wait_until("only the healthy session is left", || self.tollgate.sessions() == 1);
        assert!(!self.tollgate.log().contains("panicked"), "{}", self.tollgate.log());
    }
}
