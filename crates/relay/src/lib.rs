#![forbid(unsafe_code)]

pub mod password_exchange;
pub mod proxy_protocol;
pub mod tls;
