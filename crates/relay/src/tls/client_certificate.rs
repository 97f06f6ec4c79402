//! Who a client is, by the certificate it proved to hold.

use rustls::ServerConnection;
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Name};

/// What a verified client certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// In the certificate's order, `C=DE, O=Example, CN=etl`. Characters that could pass for structure are escaped with a
    /// backslash, so that no value can look like two.
    pub subject: String,
    /// `None` if there is none, or several that contradict each other.
    pub common_name: Option<String>,
    /// DNS names, e-mail addresses, URIs and IP addresses, in the certificate's order.
    pub sans: Vec<String>,
}

/// The client's certificate, if it presented one that was verified against `client_ca` and is still valid.
pub fn verified_subject(connection: &ServerConnection) -> Option<ClientCertificate> {
    if connection.is_handshaking() {
        return None;
    }
    // There are peer certificates only where a verifier was set and accepted them.
    let end_entity = connection.peer_certificates()?.first()?;
    let (_, certificate) = X509Certificate::from_der(end_entity).ok()?;
    // A resumed session brings its certificate along unverified; the authority is the same (a reload forgets sessions),
    // but time has passed.
    certificate.validity().is_valid().then(|| facts(&certificate))
}

/// What a certificate says that nobody has verified.
#[cfg(fuzzing)]
pub fn certificate_facts(der: &[u8]) -> Option<ClientCertificate> {
    X509Certificate::from_der(der).ok().map(|(_, certificate)| facts(&certificate))
}

fn facts(certificate: &X509Certificate<'_>) -> ClientCertificate {
    ClientCertificate {
        subject: subject(certificate.subject()),
        common_name: common_name(certificate.subject()),
        sans: sans(certificate),
    }
}

fn subject(name: &X509Name<'_>) -> String {
    let mut out = String::new();
    for rdn in name.iter() {
        for (position, attribute) in rdn.iter().enumerate() {
            if !out.is_empty() {
                out.push_str(if position == 0 { ", " } else { " + " });
            }
            match oid2abbrev(attribute.attr_type(), oid_registry()) {
                Ok(abbreviation) => out.push_str(abbreviation),
                Err(_) => out.push_str(&attribute.attr_type().to_id_string()),
            }
            out.push('=');
            match attribute.as_str() {
                Ok(value) => escape_into(&mut out, value),
                // An exotic string type: hexadecimal after a #, as RFC 4514 writes it.
                Err(_) => {
                    out.push('#');
                    attribute.as_slice().iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
                }
            }
        }
    }
    out
}

fn escape_into(out: &mut String, value: &str) {
    for character in value.chars() {
        if matches!(character, ',' | '+' | '=' | '\\' | '"' | '#') {
            out.push('\\');
            out.push(character);
        } else if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
}

fn common_name(name: &X509Name<'_>) -> Option<String> {
    let mut names = name.iter_common_name();
    match (names.next(), names.next()) {
        (Some(only), None) => only.as_str().ok().map(str::to_owned),
        (_, _) => None,
    }
}

fn sans(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    extension.value.general_names.iter().filter_map(san).collect()
}

fn san(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::RFC822Name(text) | GeneralName::URI(text) => Some((*text).to_owned()),
        GeneralName::IPAddress(bytes) => ip_address(bytes),
        _ => None,
    }
}

fn ip_address(bytes: &[u8]) -> Option<String> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(v4).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|v6| std::net::Ipv6Addr::from(v6).to_string())
}
