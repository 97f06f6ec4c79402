//! What happened, counted. Nothing here is touched by a query that passes.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($variant:ident $name:literal $help:literal,)*) => {
        /// One thing that is counted; its name is the metric's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($variant,)* }

        impl Counter {
            pub const ALL: &'static [Counter] = &[$(Counter::$variant,)*];

            pub fn name(self) -> &'static str {
                match self { $(Counter::$variant => $name,)* }
            }

            pub fn help(self) -> &'static str {
                match self { $(Counter::$variant => $help,)* }
            }
        }
    };
}

counters! {
    Accepted "connections_accepted" "Connections accepted from clients.",
    LoggedIn "logins_succeeded" "Logins that the upstream accepted.",
    LoginDenied "logins_denied" "Logins that the upstream refused.",
    LeftBeforeLogin "clients_left_before_login" "Clients that left before they had sent a login request.",
    LeftDuringLogin "clients_left_during_login" "Clients that left, or answered nonsense, in the middle of a login.",
    LoginTimeout "login_timeouts" "Logins that took longer than limits.login_time.",
    LoginMalformed "logins_malformed" "Login packets that could not be read.",
    LoginTooLarge "logins_too_large" "Login packets over limits.login_size.",
    TlsHelloOnPlain "tls_hello_before_greeting" "TLS hellos where a MySQL login was due.",
    TlsFailed "tls_handshakes_failed" "TLS handshakes with clients that failed.",
    PlainRefused "plain_logins_refused" "Logins without TLS on a listener that requires it.",
    OldClientRefused "old_clients_refused" "Clients without pluggable authentication that have a password.",
    ClearPasswordRefused "clear_passwords_refused" "Logins by mysql_clear_password over a plain upstream leg.",
    OkWithoutProof "logins_without_proof_refused" "Logins that the upstream accepted without a proof, or without one that the proxy could be sure of.",
    ProxyHeaderBad "proxy_headers_bad" "PROXY headers missing or malformed from a peer that must send one.",
    LimitConnections "limit_connections_hit" "Connections refused by limits.connections.",
    LimitUnauthenticated "limit_unauthenticated_hit" "Connections refused by limits.unauthenticated.",
    LimitUnauthenticatedPerAddress "limit_unauthenticated_per_address_hit" "Connections refused by limits.unauthenticated_per_address.",
    LimitPerAddress "limit_per_address_hit" "Connections refused by limits.per_address.",
    LimitPerUser "limit_per_user_hit" "Logins refused by limits.per_user.",
    LimitMaxConnections "limit_max_connections_hit" "Logins refused by a rule's max_connections, or by a gate on logins.",
    LimitUpstreamLogins "limit_upstream_logins_hit" "Logins that found no free place among limits.upstream_logins in time.",
    UpstreamUnreachable "upstream_unreachable" "Dials to the upstream that failed or timed out.",
    UpstreamTlsFallback "upstream_tls_fallbacks" "Logins sent to the upstream without TLS, since upstream.tls is preferred and the handshake failed.",
    UpstreamRefused "upstream_refused" "Upstream connections answered by an error instead of a greeting.",
    UpstreamMalformed "upstream_malformed" "Upstream packets that could not be read or fitted no reply.",
    UpstreamLacksCapability "upstream_lacks_capability" "Logins ended because the upstream cannot do what was offered.",
    UpstreamLost "upstream_lost" "Sessions ended because the upstream closed or broke.",
    UpstreamStalled "upstream_stalled" "Sessions ended because the upstream took nothing of what it was sent for ten minutes.",
    LoginsFinished "logins_finished_for_clients" "Upstream logins completed with a wrong answer after the client was gone.",
    ClientMalformed "client_malformed" "Commands that could not be read.",
    CommandUnknown "commands_unknown" "Commands refused because their reply could not be followed.",
    Refused "commands_refused" "Commands refused by a verdict.",
    LeftDuringHold "clients_left_during_hold" "Clients that left while their command was held; it was never sent.",
    LeftDuringReply "clients_left_during_reply" "Clients that left while their statement ran.",
    ClientStalled "clients_stalled" "Sessions ended because the client read nothing of what it was sent for ten minutes.",
    QueriesKilled "queries_killed" "KILL QUERY sent for statements whose client had left.",
    KillsTranslated "kills_translated" "KILL statements whose id was one of ours.",
    RedirectsStripped "redirects_stripped" "redirect_url taken out of replies.",
    AttributesDropped "attributes_dropped" "Connection attributes of clients dropped.",
    Drained "sessions_drained" "Sessions ended at a transaction boundary by a drain.",
    Cut "sessions_cut" "Sessions cut at drain.deadline.",
}

#[derive(Debug)]
pub struct Counters {
    values: Vec<AtomicU64>,
}

impl Default for Counters {
    fn default() -> Self {
        Counters { values: Counter::ALL.iter().map(|_| AtomicU64::new(0)).collect() }
    }
}

impl Counters {
    pub fn add(&self, counter: Counter) {
        self.add_many(counter, 1);
    }

    pub fn add_many(&self, counter: Counter, count: u64) {
        if let Some(value) = self.values.get(counter as usize) {
            value.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub fn value(&self, counter: Counter) -> u64 {
        self.values.get(counter as usize).map_or(0, |value| value.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_by_itself() {
        let counters = Counters::default();
        counters.add(Counter::Cut);
        counters.add_many(Counter::AttributesDropped, 3);
        for &counter in Counter::ALL {
            let expected = match counter {
                Counter::Cut => 1,
                Counter::AttributesDropped => 3,
                _ => 0,
            };
            assert_eq!(counters.value(counter), expected, "{}", counter.name());
        }
    }
}
