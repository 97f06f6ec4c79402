//! The proof: what the upstream asks and the client answers, relayed.
//!
//! Nothing here knows a password's rules but the two plugins that send a password in clear over a safe leg and
//! encrypted over an open one: where the client's leg and the upstream's are not alike, the proxy takes the part of the
//! one towards the other.

use std::future::poll_fn;
use std::task::Poll;

use tracing::warn;
use wire::{AuthPacket, encode_more_data};

use super::LoginEnd;
use super::our_uid::Unproven;
use crate::counters::Counter;
use crate::error::ClientError;
use crate::leg::{Leg, LegSecurity, ReadError};
use crate::password_exchange::{Password, encrypt};
use crate::shared::Shared;
use crate::upstream::UpstreamError;

pub(crate) const CACHING_SHA2: &[u8] = b"caching_sha2_password";
pub(crate) const SHA256: &[u8] = b"sha256_password";
pub(crate) const CLEAR: &[u8] = b"mysql_clear_password";

/// The server cannot tell from its cache and wants the password itself.
pub(crate) const FULL_AUTHENTICATION: &[u8] = &[4];

/// Whether a server reads a password in clear on a leg like this. `sha256_password` asks for TLS and does not count a Unix
/// socket (checked: MySQL 9.7); `caching_sha2_password` does.
pub(crate) fn takes_clear_password(plugin: &[u8], security: LegSecurity) -> bool {
    match plugin {
        SHA256 => security == LegSecurity::Tls,
        CACHING_SHA2 | CLEAR => security.is_secure(),
        _ => false,
    }
}

#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) plugin: Vec<u8>,
    scramble: Vec<u8>,
    stage: Stage,
    /// Whether the upstream asked for any proof at all.
    proof_asked: bool,
    /// Whether the upstream waits for an answer now.
    pub(crate) upstream_waits: bool,
    /// What the upstream has said since it asked for this plugin: decides the form of the next answer.
    pub(crate) said_last: Vec<u8>,
    /// The client knows how to switch plugins.
    answers_switch: bool,
    /// The client's first answer was empty: it has no password.
    no_password: bool,
}

/// Where a password that is sent as such has come to.
#[derive(Debug)]
enum Stage {
    /// Packets are passed on as they are.
    Relay,
    /// The client's next packet is its password, or a request for a key to encrypt it with.
    Password,
    /// The client encrypts with our key. Follows: Relay.
    WithOurKey,
    /// We asked for the upstream's key for this password. Follows: Relay.
    WithTheirKey(Password),
}

#[derive(Debug)]
pub(crate) enum ExchangeEnd {
    /// The upstream's ERR has been passed on.
    Denied,
    /// The upstream broke off.
    Upstream(UpstreamError),
    ClientLeft,
    ClientMalformed(ReadError),
    Timeout,
    /// We end it.
    Refuse(ClientError, Counter),
    WithoutProof,
}

impl ExchangeEnd {
    /// Whether the upstream is still in the middle of its login.
    pub(crate) fn leaves_upstream_waiting(&self) -> bool {
        match self {
            ExchangeEnd::Denied | ExchangeEnd::Upstream(_) | ExchangeEnd::WithoutProof => false,
            ExchangeEnd::ClientLeft
            | ExchangeEnd::ClientMalformed(_)
            | ExchangeEnd::Timeout
            | ExchangeEnd::Refuse(..) => true,
        }
    }

    pub(crate) fn into_login_end(self, user: &[u8]) -> LoginEnd {
        match self {
            ExchangeEnd::Denied => LoginEnd::Denied,
            ExchangeEnd::Upstream(error) => LoginEnd::Upstream(error),
            ExchangeEnd::ClientLeft => LoginEnd::Left(Counter::LeftDuringLogin),
            ExchangeEnd::ClientMalformed(error) => super::client_read_failed(error, false),
            ExchangeEnd::Timeout => super::timed_out(),
            ExchangeEnd::Refuse(error, counter) => LoginEnd::Refuse(error, counter),
            ExchangeEnd::WithoutProof => {
                LoginEnd::Refuse(ClientError::unproven(user, Unproven::NotAsked), Counter::OkWithoutProof)
            }
        }
    }
}

enum From {
    Client(Vec<u8>),
    Upstream(Vec<u8>),
}

impl Exchange {
    pub(crate) fn new(answers_switch: bool, no_password: bool) -> Exchange {
        Exchange {
            plugin: Vec::new(),
            scramble: Vec::new(),
            stage: Stage::Relay,
            proof_asked: false,
            upstream_waits: false,
            said_last: Vec::new(),
            answers_switch,
            no_password,
        }
    }

    /// Relays until the upstream's OK, which is returned and not passed on. Cancel safe enough to be timed: the
    /// upstream can be finished afterwards from the state kept here.
    pub(crate) async fn run(
        &mut self,
        shared: &Shared,
        client: &mut Leg,
        upstream: &mut Leg,
    ) -> Result<Vec<u8>, ExchangeEnd> {
        loop {
            let packet = next(client, upstream, shared.settings.login_size, self.upstream_waits).await?;
            match packet {
                From::Upstream(payload) => {
                    if let Some(ok) = self.upstream_said(client, upstream, payload).await? {
                        return Ok(ok);
                    }
                }
                From::Client(payload) => self.client_said(shared, client, upstream, payload).await?,
            }
        }
    }

    async fn upstream_said(
        &mut self,
        client: &mut Leg,
        upstream: &mut Leg,
        payload: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, ExchangeEnd> {
        self.upstream_waits = true;
        match AuthPacket::decode(&payload) {
            AuthPacket::Ok if self.proof_asked => return Ok(Some(payload)),
            AuthPacket::Ok => return Err(ExchangeEnd::WithoutProof),
            AuthPacket::Err => {
                // Its last word to this client; if the client is gone, it is all the same.
                let _ = client.write_packet(&payload).await;
                return Err(ExchangeEnd::Denied);
            }
            AuthPacket::Switch { plugin, data } | AuthPacket::NextFactor { plugin, data } => {
                self.ask_for(plugin, data);
                self.refuse_clear_password(upstream)?;
                if !self.answers_switch {
                    return self.answer_for_old_client(upstream).await.map(|()| None);
                }
            }
            AuthPacket::OldSwitch => {
                return Err(ExchangeEnd::Refuse(ClientError::old_client(), Counter::OldClientRefused));
            }
            AuthPacket::MoreData(data) => {
                self.said_last = data.to_vec();
                if let Stage::WithTheirKey(_) = self.stage {
                    return self.encrypt_for_upstream(upstream, data).await.map(|()| None);
                }
                if self.plugin == CACHING_SHA2 && data == FULL_AUTHENTICATION {
                    self.stage = Stage::Password;
                } else if self.plugin == CACHING_SHA2 && data == [3] {
                    // Found in the cache: the OK follows by itself.
                    self.upstream_waits = false;
                }
            }
            AuthPacket::Unknown => {}
        }
        client.write_packet(&payload).await.map_err(|_| ExchangeEnd::ClientLeft)?;
        Ok(None)
    }

    fn ask_for(&mut self, plugin: &[u8], data: &[u8]) {
        self.proof_asked = true;
        self.plugin = plugin.to_vec();
        self.said_last.clear();
        self.scramble = wire::scramble(data).to_vec();
        // sha256_password sends the password, or asks for a key, at once; caching_sha2_password only when told to.
        self.stage = if plugin == SHA256 { Stage::Password } else { Stage::Relay };
    }

    fn refuse_clear_password(&self, upstream: &Leg) -> Result<(), ExchangeEnd> {
        if self.plugin == CLEAR && !upstream.security.is_secure() {
            return Err(ExchangeEnd::Refuse(ClientError::clear_password(), Counter::ClearPasswordRefused));
        }
        Ok(())
    }

    /// A client that cannot switch plugins can still have no password: its empty answer is the proof that every
    /// plugin takes for that.
    async fn answer_for_old_client(&mut self, upstream: &mut Leg) -> Result<(), ExchangeEnd> {
        if !self.no_password {
            return Err(ExchangeEnd::Refuse(ClientError::old_client(), Counter::OldClientRefused));
        }
        let answer: &[u8] = if self.plugin == SHA256 || self.plugin == CLEAR { b"\0" } else { b"" };
        self.send_upstream(upstream, answer).await
    }

    async fn client_said(
        &mut self,
        shared: &Shared,
        client: &mut Leg,
        upstream: &mut Leg,
        payload: Vec<u8>,
    ) -> Result<(), ExchangeEnd> {
        let key_request: &[u8] = if self.plugin == SHA256 { &[1] } else { &[2] };
        let upstream_takes_clear = takes_clear_password(&self.plugin, upstream.security);
        match std::mem::replace(&mut self.stage, Stage::Relay) {
            Stage::Password if payload == key_request && upstream_takes_clear => {
                self.stage = Stage::WithOurKey;
                let key = encode_more_data(shared.key().public_key_pem());
                client.write_packet(&key).await.map_err(|_| ExchangeEnd::ClientLeft)
            }
            Stage::Password
                if payload != key_request
                    && client.security.is_secure()
                    && !upstream_takes_clear
                    && payload.len() > 1 =>
            {
                // A password that is not one ends as any wrong one does, by the upstream's word.
                let password = Password::from_nul_terminated(&payload).unwrap_or_else(|_| Password::new(payload));
                self.stage = Stage::WithTheirKey(password);
                self.send_upstream(upstream, key_request).await
            }
            Stage::WithOurKey => {
                let password = shared.key().decrypt(&payload, &self.scramble);
                let clear = password.unwrap_or_else(|_| Password::new(super::finish::WRONG_PASSWORD.to_vec()));
                self.send_upstream(upstream, &clear.nul_terminated()).await
            }
            stage @ Stage::WithTheirKey(_) => {
                self.stage = stage;
                Err(ExchangeEnd::ClientMalformed(ReadError::Closed))
            }
            Stage::Relay | Stage::Password => self.send_upstream(upstream, &payload).await,
        }
    }

    async fn encrypt_for_upstream(&mut self, upstream: &mut Leg, key: &[u8]) -> Result<(), ExchangeEnd> {
        let Stage::WithTheirKey(password) = std::mem::replace(&mut self.stage, Stage::Relay) else { return Ok(()) };
        let encrypted = encrypt(key, &password, &self.scramble).map_err(|error| {
            warn!(%error, "the upstream's public key cannot be used");
            let why = format!("the password cannot be sent to it: {error}");
            ExchangeEnd::Refuse(ClientError::upstream_unreachable(&why), Counter::UpstreamMalformed)
        })?;
        self.send_upstream(upstream, &encrypted).await
    }

    async fn send_upstream(&mut self, upstream: &mut Leg, payload: &[u8]) -> Result<(), ExchangeEnd> {
        self.upstream_waits = false;
        let failed = |error: std::io::Error| ExchangeEnd::Upstream(UpstreamError::Login(error.to_string()));
        upstream.write_packet(payload).await.map_err(failed)
    }
}

/// The next packet of either side; the client's only when the upstream has asked. Cancel safe.
async fn next(client: &mut Leg, upstream: &mut Leg, limit: usize, client_due: bool) -> Result<From, ExchangeEnd> {
    poll_fn(|context| {
        match upstream.poll_packet(context, limit) {
            Poll::Ready(Ok(payload)) => return Poll::Ready(Ok(From::Upstream(payload))),
            Poll::Ready(Err(error)) => {
                return Poll::Ready(Err(ExchangeEnd::Upstream(UpstreamError::Login(error.to_string()))));
            }
            Poll::Pending => {}
        }
        if client_due {
            return client.poll_packet(context, limit).map(|packet| match packet {
                Ok(payload) => Ok(From::Client(payload)),
                Err(ReadError::Closed | ReadError::Io(_)) => Err(ExchangeEnd::ClientLeft),
                Err(error) => Err(ExchangeEnd::ClientMalformed(error)),
            });
        }
        Poll::Pending
    })
    .await
}
