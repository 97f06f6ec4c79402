//! Writes what the targets begin with into `corpus/`: the packets that `wire` has recorded, some statements, proxy.yaml.

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use wire::packet::put_packet;
use wire::{Command, ReplyShape};

/// The constants are for tests only, so they are read from the text.
const RECORDED: &str = include_str!("../crates/wire/src/recorded.rs");

/// Replies as servers sent them, see `crates/wire/src/reply/tests/fixtures.rs`.
const REPLIES: &str = include_str!("../crates/wire/src/fixtures/replies.txt");

/// With the key of a server.
const PUBLIC_KEYS: &str = include_str!("../crates/relay/src/password_exchange/tests.rs");

const STATEMENTS: [&str; 22] = [
    "KILL 5",
    "kill query -2147483648; SELECT 1",
    "/*!50000 KILL */ CONNECTION 0x80000001",
    "KILL HARD QUERY '4294967295';KILL b'101'",
    "SELECT GET_LOCK('a', 1), release_all_locks()",
    "LOCK TABLES a READ, `b` WRITE; UNLOCK TABLES",
    "FLUSH TABLES t WITH READ LOCK",
    "CREATE PROCEDURE p() BEGIN KILL 5; END",
    "CREATE VIEW v AS SELECT 1; KILL 7",
    "XA START 'x'; XA PREPARE 'x'",
    "SELECT \"it's\", 'a\\'b', N'x', _utf8'x', x'1F', 1.5e3, @@a, `b``c` -- end\n;# more\nKILL 9",
    "EXPLAIN ANALYZE SELECT release_lock('a') /* KILL 5 */",
    "WITH c AS (SELECT 1), d (x) AS (SELECT 2) DELETE FROM t WHERE a IN (SELECT * FROM c)",
    "SELECT * FROM t WHERE b = (SELECT c FROM u LIMIT 1 FOR UPDATE) INTO OUTFILE 'x'",
    "SET STATEMENT max_statement_time=1 FOR SET @a = (SELECT f(1), db.f(2), now (), `now`() FROM t)",
    "EXECUTE IMMEDIATE 'DR\\OP TABLE t'; PREPARE s FROM @x; EXECUTE s USING @a; DROP PREPARE s",
    "SET sql_mode = '', NAMES gbk; SELECT \"\\\", '\\' -- '",
    "EXPLAIN ANALYZE FORMAT=JSON INTO @v (SELECT 1 UNION TABLE t LIMIT 5); COMMIT AND CHAIN; USE `x`",
    "INSERT /* gh-ost */ IGNORE INTO db.t (a, b) VALUES (1, NOW()), (-2, NOW()) ON DUPLICATE KEY UPDATE a = VALUES(a)",
    "SELECT ?, ... , (?) /* , ... */ , (_charset) ? , @@`x` , @? FROM `t` WHERE `a` IN (...) AND `b` != - ?",
    "SELECT CONCAT(@@sql_mode, ',x'), REPLACE(@a, 'x', ''), CAST('a' AS BINARY(9)) FROM DUAL",
    "BEGIN NOT ATOMIC DELETE FROM t; END; LOCK TABLES t WRITE; SHOW TABLES WHERE SLEEP(1)",
];

/// As libraries and tools write them.
const COMMENTS: [&str; 9] = [
    " /*action='%2Fparam*d',framework='django%%3A4.2',traceparent='00-5bd66ef5-c532-01',tracestate='a%3Db'*/;",
    "/*who='it's+a \\'*star*',n=3, x='1'*/",
    "/*application:App,controller:a,line:/srv/a.rb:12:in `x, y',action:'z'*/ /*note*/",
    "/* request_id=487c2ed5-08a4, field_name=child */",
    "/*vt+ PRIORITY=50 WORKLOAD_NAME=\"x\" ALLOW_SCATTER */",
    " gh-ost `a`.`b` ",
    "/*explain pt-online-schema-change 14408 copy nibble*/",
    "/*!99999 /*a='1'*/ */ /*M! x */ /*+ b='2' */ -- /*c='3'*/\n# d\n/*e='5'*/",
    "/*client='job-42:etl:unattributed',app='x'*/ /*app='y'*/",
];

/// In JSON, which is YAML too.
const RULE: &str = r#"{ "id": "a", "match": { "scope": ["etl", "*:x"], "tag.t": "v", "class": "write", "address": "10.0.0.0/8",
  "table": "s.t", "shape": "no_where", "fingerprint": "DELETE FROM t", "not": { "user": "u" } },
  "do": { "rejection_ratio": 0.9, "max_concurrency": 4 }, "action": "reject", "max_delay": "1s500ms", "mode": "warn",
  "active": { "days": ["mon-wed", "sat"], "from": "08:00", "to": "10:00", "tz": "Europe/Berlin" }, "priority": -1,
  "in_transaction": "delay", "expires": "2026-04-21T16:00:00Z", "created": "2026-04-21T10:05:00+02:00", "reason": "r" }"#;

fn main() -> Result<(), Box<dyn Error>> {
    packets()?;
    login()?;
    replies()?;
    put("framing", "v1", b"\x00\x00PROXY TCP4 192.0.2.1 192.0.2.2 1 65535\r\n")?;
    put("framing", "v2", b"\x00\x00\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0C\x01\x02\x03\x04\x05\x06\x07\x08\0\x01\0\x02")?;
    for (at, sql) in STATEMENTS.iter().enumerate() {
        for flags in [0, 7, 8, 24, 40] {
            put("statement", &format!("{at}-{flags}"), &[&[flags], sql.as_bytes()].concat())?;
        }
    }
    for (at, comment) in COMMENTS.iter().enumerate() {
        for (cuts, name) in [([255, 0], "leading"), ([0, 255], "infix"), ([0, 0], "trailing")] {
            put("comments", &format!("{at}-{name}"), &[&cuts, comment.as_bytes()].concat())?;
        }
    }
    put("config", "starter", include_bytes!("../proxy.yaml"))?;
    put("config", "rule", RULE.as_bytes())?;
    put("config", "rules", format!("upstream: {{ address: a }}\nrules: [{RULE}]").as_bytes())?;
    put("config", "uncommented", include_str!("../proxy.yaml").replace("\n# ", "\n").as_bytes())?;
    Ok(())
}

/// What is recorded, for every decoder.
fn packets() -> io::Result<()> {
    for (name, packet) in recorded() {
        for which in 0..5 {
            put("login", &format!("{name}-{which}"), &[&[which], packet.as_slice()].concat())?;
            for flags in [0x00, 0x2F] {
                put("messages", &format!("{name}-{which}-{flags}"), &[&[which, flags], packet.as_slice()].concat())?;
            }
        }
        put("framing", &name, &[&[1, 3, packet.len() as u8, 0, 0, 0], packet.as_slice()].concat())?;
    }
    put("messages", "bulk", b"\x05\x20\xFA\x01\0\0\0\x80\0\x03\0\xFD\0\0\x07\0\0\0\0\x01a")?;
    let id = 0xFEDC_BA98_u32;
    put("messages", "kill-integer", &[&[6, 0][..], &id.to_le_bytes(), &[0; 4]].concat())?;
    put("messages", "kill-short", &[&[6, 0][..], &id.to_le_bytes()].concat())?;
    put("messages", "kill-double", &[&[6, 0][..], &f64::from(id).to_le_bytes()].concat())?;
    put("messages", "kill-text", b"\x06\0\x0A4275878552")
}

/// Keys, certificates, and what a server tells of an account.
fn login() -> Result<(), Box<dyn Error>> {
    let begin = PUBLIC_KEYS.find("-----BEGIN").ok_or("no key")?;
    let end = PUBLIC_KEYS.find("-----END PUBLIC KEY-----\n").ok_or("no end of a key")?;
    put("login", "key", &[b"\x05", PUBLIC_KEYS[begin..end].as_bytes(), b"-----END PUBLIC KEY-----\n"].concat())?;

    let names = ["example.org", "192.0.2.1", "2001:db8::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names)?;
    params.subject_alt_names.push(SanType::URI("spiffe://example/etl".try_into()?));
    params.subject_alt_names.push(SanType::Rfc822Name("a@example.org".try_into()?));
    for (kind, value) in
        [(DnType::CountryName, "DE"), (DnType::OrganizationName, "a, CN=b"), (DnType::CommonName, "etl\n")]
    {
        params.distinguished_name.push(kind, value);
    }
    let certificate = params.self_signed(&KeyPair::generate()?)?;
    put("login", "certificate", &[b"\x06", certificate.der().as_ref()].concat())?;
    let bare = CertificateParams::default().self_signed(&KeyPair::generate()?)?;
    put("login", "certificate-bare", &[b"\x06", bare.der().as_ref()].concat())?;

    let column: &[u8] = b"\x03def\0\0\0\x01x\0";
    let (eof, end): (&[u8], &[u8]) = (b"\xFE\0\0\x02\0", b"\xFE\0\0\x02\0\0\0");
    for (name, account) in [("proof", &b"\x08VIA a_key"[..]), ("uid", b"\x0FVIA unix_socket")] {
        let (names, methods): ([&[u8]; 7], [&[u8]; 5]) =
            ([b"\x03", column, column, column, eof, b"\xFB\xFB\x03u@%", eof], [b"\x01", column, eof, account, eof]);
        put("login", &format!("account-{name}"), &answers(&[&names, &methods]))?;
        let (names, methods): ([&[u8]; 6], [&[u8]; 4]) =
            ([b"\x03", column, column, column, b"\xFB\xFB\x03u@%", end], [b"\x01", column, account, end]);
        put("login", &format!("account-{name}-ok"), &answers(&[&names, &methods]))?;
    }
    for (name, row) in [("proxied", &b"\x05'u'@'\xFB\x03u@%"[..]), ("proxied-external", b"\x05'u'@'\x04ldap\x03u@%")] {
        put("login", &format!("account-{name}"), &answers(&[&[b"\x03", column, column, column, row, end]]))?;
    }
    Ok(())
}

/// Packets behind each other, for the decoder of accounts.
fn answers(results: &[&[&[u8]]]) -> Vec<u8> {
    let mut bytes = vec![7];
    for result in results {
        for (packet, sequence) in result.iter().zip(1..) {
            put_packet(&mut bytes, sequence, packet);
        }
    }
    bytes
}

/// Each recorded reply as the answer to its command, and behind a PING's.
fn replies() -> Result<(), Box<dyn Error>> {
    for reply in REPLIES.split("\n@ ").skip(1) {
        let (title, lines) = reply.split_once('\n').ok_or("a title")?;
        let [mode, name, command] = title.split(' ').collect::<Vec<_>>()[..] else { return Err("three words".into()) };
        let command = Command::from_byte(u8::from_str_radix(command, 16)?).ok_or("a command")?;
        // In the order of the target's `SHAPES`.
        let shape = match command.reply_shape() {
            ReplyShape::None => 0,
            ReplyShape::Simple => 1,
            ReplyShape::Text => 2,
            ReplyShape::Results => 3,
            ReplyShape::Prepare => 4,
            ReplyShape::Fields => 5,
            ReplyShape::Rows => 6,
            ReplyShape::BinlogEvents => 7,
            ReplyShape::Login => 8,
        };
        // In that of its `CAPABILITIES`.
        let capabilities = mode.split('-').skip(1).fold(0, |bits, part| match part {
            "ok" => bits | 1,
            "track" => bits | 2,
            "optional" | "bare" => bits | 4,
            "extended" => bits | 0x38,
            _ => bits,
        });
        let stream: Vec<u8> = lines.lines().filter(|line| *line != "turn").flat_map(hex).collect();
        let flags = u8::from(name.ends_with("cursor"));
        let one = [&[capabilities, 1, 0, shape, flags, 0, 6][..], &stream].concat();
        put("reply_tracker", &format!("{mode}-{name}"), &one)?;
        let ok = hex("0700000100000002000000");
        let behind = [&[capabilities, 1, 1, 1, 2, shape, flags, 0, 0][..], &ok, &stream].concat();
        put("reply_tracker", &format!("{mode}-{name}-behind"), &behind)?;
    }
    Ok(())
}

/// `const NAME: &str = "…";`, with the backslashes that join its lines.
fn recorded() -> Vec<(String, Vec<u8>)> {
    let constants = RECORDED.split("pub(crate) const ").skip(1);
    constants
        .filter_map(|text| {
            let (name, rest) = text.split_once(':')?;
            Some((name.to_lowercase(), hex(rest.split('"').nth(1)?)))
        })
        .collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn put(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}
