//! COM_CHANGE_USER: a login inside a session, and a new identity.

use admission::port::Refusal;
use statement::Charset;
use tokio::time::timeout;
use wire::packet::{HEADER_LENGTH, put_packet};
use wire::{Capabilities, ChangeUser, OkPacket, StatusFlags, attributes};

use super::forward::More;
use super::read_command::Request;
use super::{Flow, Session, Turn, UnderWay, server};
use crate::counters::Counter;
use crate::error::{ClientError, SessionError};
use crate::facts::SessionFacts;
use crate::login::exchange::{Exchange, ExchangeEnd};
use crate::login::finish;
use crate::login::greet::ALWAYS_UPSTREAM;
use crate::login::our_uid::{self, Unproven};
use crate::login::upstream_request::{ATTRIBUTES_LIMIT, NO_PLUGIN, own_attributes};

impl Session {
    pub(super) async fn change_user(&mut self, request: &Request) -> Result<Flow, SessionError> {
        // Attributes may make it larger than what is looked at of other commands.
        if request.header.length > self.shared.settings.login_size {
            return Err(SessionError::ClientMalformed("COM_CHANGE_USER is too large"));
        }
        let whole = HEADER_LENGTH + request.header.length;
        self.client.input.reserve(whole);
        while self.client.input.len() < whole {
            if self.more_from_client().await? == More::UpstreamClosed {
                return Err(SessionError::UpstreamGone);
            }
        }
        let payload = self.client.input.unread()[HEADER_LENGTH..whole].to_vec();
        let change = match ChangeUser::decode(&payload, self.capabilities()) {
            Ok(change) => change,
            Err(error) => {
                // As MySQL answers it, which then closes.
                self.refuse(request, &ClientError::unknown_command()).await?;
                return Err(SessionError::ClientMalformed(error.0));
            }
        };
        let other_user = change.user != self.facts.user;
        let slot = match other_user.then(|| self.shared.limits.user(change.user)).transpose() {
            Ok(slot) => slot,
            Err(_) => {
                self.shared.counters.add(Counter::LimitPerUser);
                let user = String::from_utf8_lossy(change.user);
                return self.refuse(request, &ClientError::too_many_of(&format!("user '{user}'"))).await;
            }
        };
        let facts = SessionFacts {
            user: change.user.to_vec(),
            database: Some(change.database.to_vec()).filter(|name| !name.is_empty()),
            attributes: crate::facts::attributes(change.attributes.unwrap_or_default()),
            // Without one the server takes its own default.
            charset: change
                .charset
                .map_or(Charset::Unknown, |collation| Charset::of_collation_on(server(&self.shared), collation)),
            ..self.facts.clone()
        };
        if other_user
            && let Err(Refusal { code, sqlstate, message }) = self.shared.admission.may_become(&facts.client())
        {
            self.shared.counters.add(Counter::LimitMaxConnections);
            return self.refuse(request, &ClientError { code, sqlstate, message }).await;
        }
        self.client.input.consume(whole);

        let place =
            crate::login::Place { peer: self.facts.address, local: None, listener: self.facts.listener.clone() };
        let own = own_attributes(&place, self.facts.connection_id);
        let block = attributes::with_own(change.attributes.unwrap_or_default(), &own.pairs(), ATTRIBUTES_LIMIT);
        self.shared.counters.add_many(Counter::AttributesDropped, block.dropped as u64);
        let forwarded = ChangeUser {
            auth_response: b"",
            charset: Some(change.charset.unwrap_or(0)),
            auth_plugin: Some(NO_PLUGIN),
            attributes: Some(&block.block),
            ..change
        };
        let mut packet = Vec::new();
        put_packet(&mut packet, 0, &forwarded.encode(self.capabilities() | ALWAYS_UPSTREAM));
        self.upstream.transport.send(&packet).await.map_err(SessionError::UpstreamIo)?;

        let ok = match self.exchange(request, &change).await? {
            Some(ok) => ok,
            None => return Ok(Flow::Continue),
        };
        self.statements.clear();
        if let Some(slot) = slot {
            self.slots.1 = slot;
        }
        if let Ok(decoded) = OkPacket::decode(&ok, self.capabilities()) {
            self.tracker.status = decoded.status;
        }
        self.text.log_in(facts.charset, self.no_backslash_escapes());
        self.facts = facts;
        if let Err(Refusal { code, sqlstate, message }) = self.gate.changed_user(&self.facts.client()) {
            // Somebody took the last place meanwhile. The upstream has changed the user already.
            self.shared.counters.add(Counter::LimitMaxConnections);
            self.say_last(&ClientError { code, sqlstate, message }).await;
            return Err(SessionError::ClientMalformed("COM_CHANGE_USER was refused"));
        }
        self.under_way = None;
        let ok = self.shared.without_redirect(ok, self.capabilities());
        self.client.write_packet(&ok).await.map_err(SessionError::ClientIo)?;
        Ok(Flow::Continue)
    }

    /// `None`: denied; the client has been told, and is who it was.
    async fn exchange(&mut self, request: &Request, change: &ChangeUser<'_>) -> Result<Option<Vec<u8>>, SessionError> {
        self.client.sequence = request.header.sequence.wrapping_add(1);
        self.upstream.sequence = 1;
        let answers_switch = self.capabilities().contains(Capabilities::PLUGIN_AUTH);
        let mut exchange = Exchange::new(answers_switch, change.auth_response.is_empty());
        let exchanged = exchange.run(&self.shared, &mut self.client, &mut self.upstream);
        let end = timeout(self.shared.settings.login_time, exchanged).await.unwrap_or(Err(ExchangeEnd::Timeout));
        // What is said from here on follows the packets of the exchange.
        self.under_way =
            Some(UnderWay { sequence: self.client.sequence.wrapping_sub(1), answered: false, turn: Turn::Client });
        match end {
            Ok(ok) => match self.check_proof().await {
                Ok(()) => Ok(Some(ok)),
                Err(why) => Err(self.refuse_unproven(change, why).await),
            },
            Err(ExchangeEnd::Denied) => {
                // MySQL closes; MariaDB gives back the old user, but has ended all that the session had before it asked.
                self.statements.clear();
                self.text.reset(None);
                self.tracker.status.remove(StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY);
                self.under_way = None;
                Ok(None)
            }
            Err(ExchangeEnd::Upstream(_)) => Err(SessionError::UpstreamGone),
            Err(ExchangeEnd::WithoutProof) => Err(self.refuse_unproven(change, Unproven::NotAsked).await),
            Err(ExchangeEnd::Refuse(error, counter)) => {
                self.shared.counters.add(counter);
                self.say_last(&error).await;
                self.finish_exchange(exchange).await;
                Err(SessionError::ClientMalformed("COM_CHANGE_USER was refused"))
            }
            Err(ExchangeEnd::ClientLeft) => {
                self.finish_exchange(exchange).await;
                Err(SessionError::ClientGone)
            }
            Err(ExchangeEnd::ClientMalformed(_) | ExchangeEnd::Timeout) => {
                self.finish_exchange(exchange).await;
                Err(SessionError::ClientMalformed("COM_CHANGE_USER was not completed"))
            }
        }
    }

    /// See [`our_uid::check`].
    async fn check_proof(&mut self) -> Result<(), Unproven> {
        let capabilities = self.capabilities();
        match self.shared.upstream.last_greeting() {
            Some(greeting) => our_uid::check(&self.shared, &mut self.upstream, &greeting, capabilities).await,
            None => Ok(()),
        }
    }

    /// The upstream believes that the user has changed: this connection cannot be given back.
    async fn refuse_unproven(&mut self, change: &ChangeUser<'_>, why: Unproven) -> SessionError {
        self.shared.counters.add(Counter::OkWithoutProof);
        self.say_last(&ClientError::unproven(change.user, why)).await;
        SessionError::ClientMalformed("COM_CHANGE_USER without a proof")
    }

    /// An ERR after which the session ends, so that nothing more is said when it does.
    async fn say_last(&mut self, error: &ClientError) {
        let _ = self.client.write_packet(&error.payload(self.facts.capabilities)).await;
        self.under_way = None;
    }

    /// As with a login: what was begun upstream is finished.
    async fn finish_exchange(&mut self, exchange: Exchange) {
        self.shared.counters.add(Counter::LoginsFinished);
        finish::in_session(&mut self.upstream, exchange).await;
    }
}
