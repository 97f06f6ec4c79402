//! Who asks what, and in which session: as JSON, from a command line or from HTTP.

use std::net::{IpAddr, SocketAddr};

use admission::Gatekeeper;
use admission::explain::Explanation;
use admission::port::{Client, SessionState};
use config::Plan;
use serde_json::{Map, Value as Json};
use session::{Part, SessionText, Source, StatementsPerText};
use statement::{Charset, Server};

/// Names with their values, in the order in which they were given.
type Attributes = Vec<(Vec<u8>, Vec<u8>)>;

#[derive(Debug)]
pub(crate) struct Question {
    sql: String,
    /// The longest text that the proxy reads, without its command byte.
    inspected: usize,
    user: String,
    address: Option<IpAddr>,
    listener: String,
    certificate: Option<String>,
    attrs: Attributes,
    query_attrs: Attributes,
    schema: Option<String>,
    charset: Charset,
    session: SessionState,
}

const KEYS: [&str; 12] = [
    "sql",
    "user",
    "address",
    "listener",
    "certificate",
    "attrs",
    "query_attrs",
    "schema",
    "charset",
    "in_transaction",
    "autocommit",
    "holds_locks",
];

impl Question {
    /// `Err`: what is wrong with it.
    pub(crate) fn read(json: &Json, plan: &Plan) -> Result<Question, String> {
        let keys = json.as_object().ok_or("send an object, as in `{ \"user\": \"etl\", \"sql\": \"DELETE …\" }`")?;
        if let Some(key) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("there is no key `{key}` here; there are {}", KEYS.join(", ")));
        }
        let names: Vec<&str> = plan.listen.iter().map(|listener| listener.name.as_str()).collect();
        let listener = match text(keys, "listener")? {
            Some(name) if !names.contains(&name.as_str()) => {
                return Err(format!("no listener is called `{name}`; there is {}", names.join(", ")));
            }
            Some(name) => name,
            None => names.first().copied().unwrap_or_default().to_owned(),
        };
        let address = text(keys, "address")?
            .map(|text| text.parse().map_err(|_| format!("`{text}` is not an address; write one such as 10.0.0.7")));
        Ok(Question {
            sql: text(keys, "sql")?.ok_or("`sql` is missing: the statement to be explained")?,
            inspected: plan.limits.inspect.saturating_sub(1),
            user: text(keys, "user")?.ok_or("`user` is missing: the name of a MySQL user")?,
            address: address.transpose()?,
            listener,
            certificate: text(keys, "certificate")?,
            attrs: pairs(keys, "attrs")?,
            query_attrs: pairs(keys, "query_attrs")?,
            schema: text(keys, "schema")?,
            charset: charset(text(keys, "charset")?)?,
            session: SessionState {
                in_transaction: is(keys, "in_transaction", false)?,
                autocommit: is(keys, "autocommit", true)?,
                holds_locks: is(keys, "holds_locks", false)?,
            },
        })
    }

    pub(crate) fn explain(&self, keeper: &Gatekeeper) -> Explanation {
        let client = Client {
            connection: 0,
            user: self.user.as_bytes(),
            address: self.address.map(|address| SocketAddr::new(address, 0)),
            listener: &self.listener,
            certificate: self.certificate.as_deref(),
            attributes: &self.attrs,
            database: self.schema.as_deref().map(str::as_bytes),
        };
        let session = SessionText::new(Server::Unknown, self.charset, StatementsPerText::Several, false);
        let whole = self.sql.as_bytes();
        let (sql, part) = match whole.get(..self.inspected) {
            Some(beginning) if beginning.len() < whole.len() => (beginning, Part::Beginning),
            Some(_) | None => (whole, Part::Whole),
        };
        let scan = session.read(sql, Source::Query, part);
        keeper.explain(&client, sql, &scan, self.session, &self.query_attrs)
    }
}

/// The client's character set, by its name.
fn charset(name: Option<String>) -> Result<Charset, String> {
    let Some(name) = name else { return Ok(Charset::default()) };
    let unknown = || format!("`{name}` is not a client's character set; write one such as utf8mb4 or latin1");
    Charset::named(name.as_bytes()).ok_or_else(unknown)
}

fn text(keys: &Map<String, Json>, key: &str) -> Result<Option<String>, String> {
    match keys.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` is not a text; write it in quotes")),
    }
}

fn is(keys: &Map<String, Json>, key: &str, default: bool) -> Result<bool, String> {
    match keys.get(key) {
        None | Some(Json::Null) => Ok(default),
        Some(Json::Bool(is)) => Ok(*is),
        Some(_) => Err(format!("`{key}` is neither `true` nor `false`")),
    }
}

fn pairs(keys: &Map<String, Json>, key: &str) -> Result<Attributes, String> {
    let wrong = || format!("`{key}` is not an object of texts, as in `{{ \"program_name\": \"loader\" }}`");
    let object = match keys.get(key) {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Object(object)) => object,
        Some(_) => return Err(wrong()),
    };
    let pair = |(key, value): (&String, &Json)| {
        let value = value.as_str().ok_or_else(wrong)?;
        Ok((key.as_bytes().to_vec(), value.as_bytes().to_vec()))
    };
    object.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_question() {
        let plan = Plan::from_text("upstream: { address: db }\n", Path::new("proxy.yaml")).expect("a plan");
        for (question, part) in [
            (json!([]), "send an object"),
            (json!({ "sql": "SELECT 1" }), "`user` is missing"),
            (json!({ "user": "etl" }), "`sql` is missing"),
            (json!({ "user": "etl", "sql": 1 }), "`sql` is not a text"),
            (json!({ "user": "etl", "sql": "", "adress": "x" }), "no key `adress`"),
            (json!({ "user": "etl", "sql": "", "address": "x" }), "`x` is not an address"),
            (
                json!({ "user": "etl", "sql": "", "listener": "x" }),
                "no listener is called `x`; there is 127.0.0.1:6033",
            ),
            (json!({ "user": "etl", "sql": "", "attrs": { "a": 1 } }), "`attrs` is not an object of texts"),
            (json!({ "user": "etl", "sql": "", "autocommit": 0 }), "`autocommit` is neither"),
        ] {
            let wrong = Question::read(&question, &plan).expect_err(part);
            assert!(wrong.contains(part), "{question}: {wrong}");
        }
        let good = Question::read(&json!({ "user": "etl", "sql": "", "address": null }), &plan).expect("a question");
        assert_eq!((good.listener.as_str(), good.session.autocommit), ("127.0.0.1:6033", true));
    }
}
