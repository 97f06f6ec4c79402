//! Decoders that nobody outside may call, for the programs under `fuzz/`. It is there only where cargo-fuzz builds.

use tokio::io::AsyncWriteExt;
use wire::Capabilities;

use crate::leg::Leg;
use crate::login::our_uid::{self, Unproven};
use crate::transport::Transport;

/// See [`crate::tls::verified_subject`], which has looked at the certificate's validity.
pub use crate::tls::certificate_facts;

/// See `session/kill_parameter.rs`.
pub fn kill_parameter(value: &[u8], lookup: impl Fn(u32) -> Option<u32>) -> Option<(Vec<u8>, u32)> {
    crate::session::kill_parameter::translated(value, lookup)
}

/// What a server tells of the account that it let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    ByProofOnly,
    ByUid,
    Unknown,
}

/// Takes `answers` for all that a server says when asked about an account, arriving in pieces of `piece` bytes.
pub async fn account(answers: &[u8], piece: usize, is_mariadb: bool, capabilities: Capabilities) -> Account {
    let (mut server, answered) = tokio::io::duplex(piece.max(1));
    // The questions go nowhere.
    let mut leg = Leg::new(Transport::Boxed(Box::new(tokio::io::join(answered, tokio::io::sink()))));
    let answer = async {
        let _ = server.write_all(answers).await;
        drop(server);
        std::future::pending().await
    };
    tokio::select! {
        checked = our_uid::check_account(&mut leg, is_mariadb, capabilities) => match checked {
            Ok(()) => Account::ByProofOnly,
            Err(Unproven::PeerUid) => Account::ByUid,
            Err(Unproven::Unknown | Unproven::NotAsked | Unproven::GrantTablesSkipped) => Account::Unknown,
        },
        account = answer => account,
    }
}
