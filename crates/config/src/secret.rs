//! A password that no log line, error or debugger's print shows.

use std::fmt;

/// Read it with [`Secret::expose`], as late as possible.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: String,
    origin: SecretOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretOrigin {
    Environment,
    File,
    /// It stands in proxy.yaml itself.
    Plain,
}

impl Secret {
    pub(crate) fn new(text: String, origin: SecretOrigin) -> Self {
        Secret { text, origin }
    }

    pub fn expose(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.origin == SecretOrigin::Plain
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}
