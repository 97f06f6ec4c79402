//! The commands other than COM_QUERY, and prepared statements with parameters.

use sandbox::Flavor;
use wire::Capabilities;
use wire::packet::MAX_PAYLOAD;

use super::Step;
use crate::differential::conversation::COM_STATISTICS;
use crate::differential::values::Value;

pub(crate) const CLOSE: u8 = 0x19;
const SEND_LONG_DATA: u8 = 0x18;
const RESET: u8 = 0x1A;
const FETCH: u8 = 0x1C;
const READ_ONLY_CURSOR: u8 = 1;

/// MYSQL_TYPE_ numbers.
const LONG: u16 = 3;
const BLOB: u16 = 0xFC;
const TEXT: u16 = 0xFD;
const UNSIGNED: u16 = 1 << 15;

pub(crate) fn steps(flavor: Flavor, schema: &str, capabilities: Capabilities) -> Vec<Step> {
    let mut steps = plain();
    steps.push(Step::Command("COM_INIT_DB", [b"\x02", schema.as_bytes()].concat()));
    steps.extend(parameters());
    steps.extend(cursors());
    steps.extend(long_data());
    steps.extend(calls());
    steps.extend(wrong());
    steps.extend(files());
    if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
        steps.extend(attributes());
    }
    if flavor == Flavor::Mariadb && capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS) {
        steps.extend(bulk());
    }
    if flavor == Flavor::Mariadb {
        steps.extend(last_prepared());
    }
    steps.extend(new_session());
    steps
}

fn command(name: &'static str, payload: &[u8]) -> Step {
    Step::Command(name, payload.to_vec())
}

fn plain() -> Vec<Step> {
    vec![
        command("COM_PING", b"\x0E"),
        command(COM_STATISTICS, b"\x09"),
        command("COM_PING with more", b"\x0Emore"),
        command("COM_INIT_DB to nothing", b"\x02no_such_schema"),
        command("COM_INIT_DB", b"\x02information_schema"),
        Step::query("SELECT DATABASE()"),
        command("COM_FIELD_LIST without a table", b"\x04\0"),
        command("COM_FIELD_LIST", b"\x04TABLES\0%"),
        command("COM_FIELD_LIST of nothing", b"\x04no_such_table\0"),
        command("COM_SET_OPTION off", b"\x1B\x01\0"),
        Step::query("SELECT 1; SELECT 2"),
        command("COM_SET_OPTION on", b"\x1B\0\0"),
        command("COM_SET_OPTION nothing", b"\x1B\x07\0"),
        command("COM_CREATE_DB", b"\x05differential_made"),
        command("COM_DROP_DB", b"\x06differential_made"),
        command("COM_REFRESH", b"\x07\x04"),
        command("COM_PROCESS_KILL of nobody", b"\x0C\xFE\xFF\xFF\x7F"),
        command("COM_SLEEP", b"\0"),
        command("COM_CONNECT", b"\x0B"),
        command("COM_TIME", b"\x0F"),
        command("COM_DELAYED_INSERT", b"\x10"),
        command("COM_DAEMON", b"\x1D"),
        command("no command", b""),
        command("an unknown command", b"\x42unknown"),
    ]
}

/// Every type as a parameter, twice: the types are sent only once.
fn parameters() -> Vec<Step> {
    let datetime = |bytes: &[u8]| Value::Bytes(12, bytes.to_vec());
    let all = vec![
        Value::Fixed(1, vec![0x80]),
        Value::Fixed(1 | UNSIGNED, vec![0xFF]),
        Value::Fixed(2, vec![0, 0x80]),
        Value::Fixed(LONG, vec![1, 0, 0, 0x80]),
        Value::Fixed(8, vec![0xFF; 8]),
        Value::Fixed(8 | UNSIGNED, vec![0xFF; 8]),
        Value::Fixed(4, 1.5f32.to_le_bytes().to_vec()),
        Value::Fixed(5, (-2.25e300f64).to_le_bytes().to_vec()),
        Value::Bytes(0xF6, b"123.456".to_vec()),
        Value::text("grüße 🦀"),
        Value::Bytes(BLOB, vec![0, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF]),
        Value::Bytes(0xFE, Vec::new()),
        datetime(&[0xE8, 7, 2, 29]),
        datetime(&[0xE8, 7, 2, 29, 23, 59, 58]),
        datetime(&[0xE8, 7, 2, 29, 23, 59, 58, 1, 2, 3, 0]),
        Value::Bytes(10, vec![0xE8, 7, 1, 1]),
        Value::Bytes(11, vec![1, 2, 0, 0, 0, 3, 4, 5]),
        Value::Bytes(11, Vec::new()),
        Value::Null(6),
        Value::Null(TEXT),
    ];
    let marks = vec!["?"; all.len()].join(", ");
    let mut steps = vec![
        Step::Prepare(format!("SELECT {marks}")),
        Step::execute(all.clone()),
        Step::Execute { flags: 0, values: all, types: false },
        Step::OnStatement(CLOSE, Vec::new()),
        Step::Prepare("SELECT id FROM many WHERE id BETWEEN ? AND ?".to_owned()),
        Step::execute(vec![Value::int(3), Value::int(6)]),
        Step::Execute { flags: 0, values: vec![Value::int(7), Value::int(7)], types: false },
        Step::execute(vec![Value::text("1"), Value::text("2")]),
        Step::OnStatement(RESET, Vec::new()),
        Step::execute(vec![Value::Null(LONG), Value::Null(LONG)]),
        Step::OnStatement(CLOSE, Vec::new()),
        Step::execute(vec![Value::int(3), Value::int(6)]),
    ];
    for (sql, value) in [
        ("INSERT INTO parent VALUES (?, 'prepared')", Value::int(50)),
        ("INSERT INTO parent VALUES (?, 'again')", Value::int(50)),
        ("UPDATE parent SET name = ? WHERE id = 50", Value::text("renamed")),
        ("SELECT * FROM texts WHERE v = ?", Value::text("grüße 🦀")),
        ("SELECT ? FROM empty", Value::Null(6)),
        ("SELECT * FROM numbers LIMIT ?", Value::int(2)),
        ("SET @prepared = ?", Value::text("x")),
        ("SHOW VARIABLES WHERE Variable_name = ?", Value::text("autocommit")),
        ("EXPLAIN SELECT * FROM parent WHERE id = ?", Value::int(50)),
        ("SELECT ? FROM no_such_table", Value::int(1)),
        ("SELEC ?", Value::int(1)),
        ("DO ?", Value::int(1)),
        ("SELECT id, 9223372036854775800 + id FROM many WHERE id < ?", Value::int(20)),
    ] {
        steps.push(Step::Prepare(sql.to_owned()));
        steps.push(Step::execute(vec![value.clone()]));
        steps.push(Step::Execute { flags: 0, values: vec![value], types: false });
        steps.push(Step::OnStatement(CLOSE, Vec::new()));
    }
    steps
}

fn cursors() -> Vec<Step> {
    let fetch = |rows: u32| Step::OnStatement(FETCH, rows.to_le_bytes().to_vec());
    let open = Step::Execute { flags: READ_ONLY_CURSOR, values: Vec::new(), types: false };
    let mut steps = Vec::new();
    for sql in ["SELECT id FROM many", "SELECT * FROM texts", "SELECT * FROM empty", "SELECT 1"] {
        steps.push(Step::Prepare(sql.to_owned()));
        steps.push(open.clone());
        steps.extend([fetch(1), fetch(0), fetch(250), fetch(1000), fetch(1)]);
        steps.push(open.clone());
        steps.push(fetch(1));
        // Another statement while the cursor is open, then on with it.
        steps.push(Step::query("SELECT id FROM many LIMIT 3"));
        steps.push(Step::query("CALL own_cursor()"));
        steps.push(fetch(1));
        steps.push(Step::OnStatement(RESET, Vec::new()));
        steps.push(fetch(1));
        steps.push(Step::OnStatement(CLOSE, Vec::new()));
    }
    // A cursor asked for what has none.
    for sql in
        ["SET @a = 1", "CALL two_results()", "CALL own_cursor()", "SHOW TABLES", "INSERT INTO empty VALUES (1, 'c')"]
    {
        steps.push(Step::Prepare(sql.to_owned()));
        steps.push(open.clone());
        steps.push(fetch(10));
        steps.push(Step::OnStatement(CLOSE, Vec::new()));
    }
    steps
}

fn long_data() -> Vec<Step> {
    let data = |parameter: u16, bytes: &[u8]| {
        Step::OnStatement(SEND_LONG_DATA, [&parameter.to_le_bytes()[..], bytes].concat())
    };
    vec![
        Step::Prepare("SELECT ?, LENGTH(?)".to_owned()),
        data(0, b"first "),
        data(0, b"second"),
        data(1, &[7; 100_000]),
        Step::execute(vec![Value::Long(TEXT), Value::Long(BLOB)]),
        Step::Execute { flags: 0, values: vec![Value::text("sent"), Value::text("sent")], types: false },
        data(0, b"forgotten"),
        Step::OnStatement(RESET, Vec::new()),
        Step::execute(vec![Value::text("kept"), Value::text("kept")]),
        data(9, b"no such parameter"),
        Step::execute(vec![Value::text("a"), Value::text("b")]),
        data(0, b""),
        Step::execute(vec![Value::Long(BLOB), Value::text("b")]),
        Step::OnStatement(CLOSE, Vec::new()),
        data(0, b"closed"),
        Step::OnStatement(RESET, Vec::new()),
    ]
}

/// OUT parameters come as a result set of their own.
fn calls() -> Vec<Step> {
    vec![
        Step::Prepare("CALL in_out(?, ?, ?)".to_owned()),
        Step::execute(vec![Value::int(9), Value::text("b"), Value::Null(6)]),
        Step::Execute { flags: 0, values: vec![Value::int(1), Value::text("c"), Value::Null(6)], types: false },
        Step::OnStatement(CLOSE, Vec::new()),
        Step::Prepare("CALL out_and_results(?)".to_owned()),
        Step::execute(vec![Value::Null(LONG)]),
        Step::Execute { flags: READ_ONLY_CURSOR, values: vec![Value::Null(LONG)], types: true },
        Step::OnStatement(CLOSE, Vec::new()),
    ]
}

/// Ids that name nothing, and packets too short for what they say.
fn wrong() -> Vec<Step> {
    let nobody = 77_777u32.to_le_bytes();
    let on_nobody = |command: u8, rest: &[u8]| [&[command][..], &nobody, rest].concat();
    vec![
        Step::Command("execute nothing", on_nobody(0x17, &[0, 1, 0, 0, 0])),
        Step::Command("fetch from nothing", on_nobody(FETCH, &[1, 0, 0, 0])),
        Step::Command("reset nothing", on_nobody(RESET, &[])),
        Step::Command("close nothing", on_nobody(CLOSE, &[])),
        Step::Command("long data for nothing", on_nobody(SEND_LONG_DATA, b"\0\0data")),
        command("execute, cut", b"\x17\x01\0"),
        command("reset, cut", b"\x1A\x01"),
        command("fetch, cut", b"\x1C\x01\0\0\0"),
        command("prepare nothing", b"\x16"),
        command("set option, cut", b"\x1B"),
        command("kill, cut", b"\x0C\x01"),
        command("register slave, cut", b"\x15\x01"),
    ]
}

fn files() -> Vec<Step> {
    let load = |file: &[&[u8]]| {
        let file = file.iter().map(|part| part.to_vec()).collect();
        Step::Load("LOAD DATA LOCAL INFILE 'any' INTO TABLE loaded".to_owned(), file)
    };
    vec![
        load(&[]),
        load(&[b"1\tone\n2\ttwo\n"]),
        load(&[b"3\tth", b"ree\n", b"4\tfour"]),
        load(&[b"not a number\tx\n5\n6\tsix\tmore\n"]),
        Step::query("SELECT * FROM loaded"),
        Step::Load(
            "LOAD DATA LOCAL INFILE 'any' INTO TABLE loaded; SELECT COUNT(*) FROM loaded".to_owned(),
            vec![b"7\tseven\n".to_vec()],
        ),
        Step::query("LOAD DATA LOCAL INFILE 'any' INTO TABLE no_such_table"),
    ]
}

fn attributes() -> Vec<Step> {
    let with = |sql: &str, attributes| Step::Query(sql.to_owned(), attributes);
    vec![
        with("SELECT 1", vec![("job", Value::text("etl")), ("n", Value::int(5)), ("nothing", Value::Null(6))]),
        with("SELECT 1; SELECT 2", vec![("", Value::text(""))]),
        with("SELEC 1", vec![("a", Value::Bytes(0xFE, vec![b'x'; 300]))]),
        Step::Prepare("SELECT 1".to_owned()),
        // Only attributes: the flag says that a count follows.
        Step::Execute { flags: 8, values: vec![Value::text("attribute")], types: true },
        Step::Execute { flags: 8, values: vec![Value::text("attribute")], types: false },
        Step::OnStatement(CLOSE, Vec::new()),
    ]
}

/// MariaDB's array binding: types once, then rows whose values each have an indicator.
fn bulk() -> Vec<Step> {
    const SEND_TYPES: u16 = 128;
    let row = |id: i32, name: &[u8]| {
        let mut row = vec![0];
        row.extend_from_slice(&id.to_le_bytes());
        row.push(0);
        wire::put_lenenc_bytes(&mut row, name);
        row
    };
    let body = |rows: &[Vec<u8>]| {
        let types = [LONG.to_le_bytes(), TEXT.to_le_bytes()].concat();
        [&SEND_TYPES.to_le_bytes()[..], &types, &rows.concat()].concat()
    };
    vec![
        Step::Prepare("INSERT INTO parent VALUES (?, ?)".to_owned()),
        Step::OnStatement(0xFA, body(&[row(100, b"hundred"), row(101, b"more"), row(102, b"")])),
        Step::OnStatement(0xFA, body(&[row(103, b"x"), row(100, b"twice")])),
        Step::OnStatement(0xFA, body(&[])),
        Step::query("SELECT * FROM parent ORDER BY id"),
        Step::OnStatement(CLOSE, Vec::new()),
        Step::Prepare("SELECT ?, ?".to_owned()),
        Step::OnStatement(0xFA, body(&[row(1, b"a")])),
        Step::OnStatement(CLOSE, Vec::new()),
    ]
}

/// MariaDB: -1 is the statement prepared last.
fn last_prepared() -> Vec<Step> {
    let last = |command: u8, rest: &[u8]| [&[command, 0xFF, 0xFF, 0xFF, 0xFF][..], rest].concat();
    vec![
        Step::Prepare("SELECT 'last'".to_owned()),
        Step::Command("execute -1", last(0x17, &[0, 1, 0, 0, 0])),
        Step::Command("reset -1", last(RESET, &[])),
        Step::Prepare("SELEC".to_owned()),
        Step::Command("execute -1 after a failure", last(0x17, &[0, 1, 0, 0, 0])),
    ]
}

/// At the end: what the session forgets.
fn new_session() -> Vec<Step> {
    vec![
        Step::query("SET @remembered = 1"),
        Step::Prepare("SELECT @remembered".to_owned()),
        Step::execute(Vec::new()),
        command("COM_RESET_CONNECTION", b"\x1F"),
        Step::query("SELECT @remembered, DATABASE()"),
        Step::execute(Vec::new()),
        Step::Prepare("SELECT 'anew'".to_owned()),
        Step::execute(Vec::new()),
        command("COM_PING", b"\x0E"),
    ]
}

/// Around and beyond the size of one packet.
pub(crate) fn large() -> Vec<Step> {
    let mut steps = vec![Step::query("SET SESSION group_concat_max_len = 1000000000")];
    for length in [MAX_PAYLOAD - 5, MAX_PAYLOAD - 4, MAX_PAYLOAD - 3, MAX_PAYLOAD + 10] {
        // 0xFD is the first byte up to 16 MiB, 0xFE beyond: what an EOF begins with.
        steps.push(Step::query(&format!("SELECT REPEAT('x', {length})")));
    }
    steps.push(Step::query(&format!("SELECT NULL, REPEAT('x', {MAX_PAYLOAD}), 1 UNION ALL SELECT 1, 2, 3; SELECT 2")));
    steps.push(Step::Prepare(format!("SELECT REPEAT('x', {})", MAX_PAYLOAD + 1)));
    steps.push(Step::execute(Vec::new()));
    steps.push(Step::OnStatement(CLOSE, Vec::new()));
    // Commands: of just one packet, one byte less, one more.
    for length in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
        let start = "\x03SELECT 1 /* ";
        let sql = format!("{start}{} */", "x".repeat(length - start.len() - 3));
        steps.push(Step::Command("a large COM_QUERY", sql.into_bytes()));
    }
    steps.push(Step::Prepare("SELECT LENGTH(?), ? IS NULL".to_owned()));
    steps.push(Step::execute(vec![Value::Bytes(BLOB, vec![9; MAX_PAYLOAD + 100]), Value::Null(6)]));
    steps.push(Step::OnStatement(SEND_LONG_DATA, [&[0, 0][..], &vec![8; MAX_PAYLOAD - 7]].concat()));
    steps.push(Step::execute(vec![Value::Long(BLOB), Value::Null(6)]));
    steps.push(Step::OnStatement(CLOSE, Vec::new()));
    let line = [&b"8\t"[..], &vec![b'z'; MAX_PAYLOAD - 3], b"\n"].concat();
    steps.push(Step::Load("LOAD DATA LOCAL INFILE 'any' IGNORE INTO TABLE loaded".to_owned(), vec![line]));
    steps
}
