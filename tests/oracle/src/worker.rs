//! One worker: a connection that runs packets, and one that judges them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sandbox::Flavor;

use crate::case::{Case, Protocol, WORKER, escape};
use crate::client::{Address, Client, Reply, Shape};
use crate::evidence::{BEGIN_MARK, COUNT, END_MARK, Happened, history, probe, read_count, read_probe, split};
use crate::proxy::Rule;
use crate::reading::{Answer, Reading, Session};
use crate::verdict::{Catalogue, Comparison, Kind, Milder};
use crate::world;

const QUERY: u8 = 3;
const INIT_DB: u8 = 2;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const RESET: u8 = 0x1F;

/// Status flags.
const IN_TRANSACTION: u16 = 1;
const NO_BACKSLASH_ESCAPES: u16 = 512;

/// Where the servers are, and how to judge.
#[derive(Debug, Clone)]
pub struct Place {
    pub address: Address,
    pub flavor: Flavor,
    /// Files of SELECT … INTO OUTFILE are written here.
    pub data: PathBuf,
    pub catalogue: Catalogue,
    pub through: Through,
    /// How many workers there are: their numbers begin at 0.
    pub workers: usize,
}

/// The way of the packets.
#[derive(Debug, Clone)]
pub enum Through {
    Directly,
    /// A proxy with one certain rule.
    Proxy(Address, Rule),
}

/// What became of one packet.
#[derive(Debug)]
pub struct Outcome {
    /// `None`: the connection was lost, or the server kept no evidence.
    pub happened: Option<Happened>,
    pub failures: Vec<Milder>,
    pub reading: Option<Reading>,
}

#[derive(Debug)]
pub struct Worker {
    pub number: usize,
    place: Place,
    judge: Client,
    hostile: Client,
    thread: u64,
    /// Events up to here are judged.
    last_event: u64,
    /// The schema must be made anew before the next packet.
    broken: bool,
    dirty: bool,
    /// The packet before has left another schema in use, or nobody knows.
    elsewhere: bool,
    /// The schemas as they were made.
    snapshot: BTreeSet<String>,
    pub spent: Spent,
}

/// Where the time of a worker goes.
#[derive(Debug, Default, Clone, Copy)]
pub struct Spent {
    pub rebuilds: u64,
    pub rebuilding: Duration,
    pub refills: u64,
    pub refilling: Duration,
    pub running: Duration,
    pub judging: Duration,
    pub splits: u64,
    pub reconnects: u64,
}

/// Whether the session's counters of statements are asked for, which takes longer than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Asked,
    Omitted,
}

/// The queries in front of a packet.
struct Begin {
    /// All in one text.
    setup: String,
    /// Behind the packets of the session before it.
    marks: Vec<String>,
}

/// The replies to one packet.
#[derive(Debug)]
struct Run {
    /// As it was before the packet.
    session: Session,
    /// Of the packets before it.
    earlier: Vec<Reply>,
    replies: Vec<Reply>,
    probe: Reply,
    /// The number of definitions that the session's counters have counted, if they were asked for.
    counted: Option<u64>,
    file_written: bool,
}

impl Worker {
    pub fn start(place: &Place, number: usize) -> Result<Worker> {
        let mut judge = Client::connect(&place.address, "judge", None)?;
        // Its own events would only be in the way of those that it looks for.
        judge.rows("UPDATE performance_schema.threads SET INSTRUMENTED='NO', HISTORY='NO' WHERE PROCESSLIST_ID=CONNECTION_ID()")?;
        if matches!(place.through, Through::Directly) {
            world::create(&mut judge, place.flavor, number)?;
        } else {
            // The proxy before this one may have left a statement that still runs, and holds its tables.
            world::rebuild_after_others(&mut judge, place.flavor, number)?;
        }
        let snapshot = world::snapshot(&mut judge, place.flavor, number)?;
        let (hostile, thread) = connect(place, &mut judge, number)?;
        Ok(Worker {
            snapshot,
            number,
            place: place.clone(),
            judge,
            hostile,
            thread,
            last_event: 0,
            broken: false,
            dirty: false,
            elsewhere: false,
            spent: Spent::default(),
        })
    }

    /// Runs the packets one after another, and judges all of them.
    pub fn run(&mut self, cases: &[Case]) -> Result<Vec<Outcome>> {
        self.restore()?;
        let started = Instant::now();
        let mut runs = Vec::new();
        for case in cases {
            match self.run_one(case) {
                Ok(run) => runs.push(run),
                // The packet has ended its connection, and with it the evidence of those before.
                Err(_) => break,
            }
        }
        self.spent.running += started.elapsed();
        let lost = runs.len() < cases.len();
        let mut outcomes = if lost { Vec::new() } else { self.judge(cases, runs)? };
        if lost {
            self.reconnect()?;
            if let [_] = cases {
                return Ok(vec![Outcome { happened: None, failures: Vec::new(), reading: None }]);
            }
            for case in cases {
                outcomes.extend(self.run(std::slice::from_ref(case))?);
            }
        }
        Ok(outcomes)
    }

    fn reconnect(&mut self) -> Result<()> {
        self.spent.reconnects += 1;
        // What a hung statement still does must not meet the next packet.
        let _ = self.judge.rows(&format!("KILL {}", self.hostile.connection_id));
        // An account that changed its own password, or rows behind a prepared XA transaction.
        let name = world::schema(self.number);
        let _ = self.judge.rows(&format!("ALTER USER {name}@'%' IDENTIFIED BY ''"));
        let (hostile, thread) = connect(&self.place, &mut self.judge, self.number)?;
        (self.hostile, self.thread, self.last_event) = (hostile, thread, 0);
        (self.dirty, self.elsewhere) = (true, false);
        // A file of a packet that was lost is none of the next one's.
        self.take_files(&Case::of("file"));
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        if !self.broken && !self.dirty {
            return Ok(());
        }
        self.spent.refills += 1;
        let started = Instant::now();
        self.reset_session();
        let mut is_whole = true;
        if self.broken {
            self.elsewhere = true;
            is_whole = world::drop_additions(&mut self.judge, self.place.flavor, self.number, &self.snapshot)?;
        }
        let is_full = is_whole && world::refill(&mut self.judge, self.number).is_ok();
        self.spent.refilling += started.elapsed();
        if !is_full {
            self.rebuild()?;
        }
        (self.broken, self.dirty) = (false, false);
        Ok(())
    }

    fn rebuild(&mut self) -> Result<()> {
        self.spent.rebuilds += 1;
        let started = Instant::now();
        if world::rebuild(&mut self.judge, self.place.flavor, self.number).is_err() {
            // MariaDB keeps a table open under the name of its file.
            self.judge.rows("FLUSH TABLES")?;
            // Something of the packet still holds a lock, or its session does.
            self.reconnect()?;
            if world::rebuild(&mut self.judge, self.place.flavor, self.number).is_err() {
                // MariaDB may leave files behind where a statement was killed, and does not drop a schema that has some.
                let _ = std::fs::remove_dir_all(self.place.data.join(world::schema(self.number)));
                if world::rebuild(&mut self.judge, self.place.flavor, self.number).is_err() {
                    self.move_on()?;
                }
            }
        }
        self.snapshot = world::snapshot(&mut self.judge, self.place.flavor, self.number)?;
        self.elsewhere = true;
        self.spent.rebuilding += started.elapsed();
        Ok(())
    }

    /// Leaves the schemas to a statement that no KILL ends, and takes those of a number that no worker has.
    fn move_on(&mut self) -> Result<()> {
        let hung =
            "SELECT CONCAT(USER, ', ', STATE, ': ', INFO) FROM information_schema.PROCESSLIST WHERE COMMAND='Killed'";
        for statement in self.judge.rows(hung)?.into_iter().flatten().flatten() {
            eprintln!("hung: {}", escape(&statement));
        }
        let number = self.number + self.place.workers;
        // The rules of a proxy name the users of the first numbers.
        if number > 9 || matches!(self.place.through, Through::Proxy(..)) {
            bail!("the schemas of worker {} cannot be made anew", self.number);
        }
        self.number = number;
        world::create(&mut self.judge, self.place.flavor, number)?;
        self.reconnect()
    }

    /// Gives up the locks of the packet before.
    fn reset_session(&mut self) {
        self.hostile.push(RESET, b"");
        let _ = self.hostile.flush();
        let _ = self.hostile.read_reply(Shape::Results);
    }

    fn run_one(&mut self, case: &Case) -> Result<Run> {
        let packets: Vec<Vec<u8>> = case.packets().map(|packet| for_worker(packet, self.number)).collect();
        let Some((text, earlier)) = packets.split_last() else { bail!("a case without a packet") };
        let counts = self.counts(case);
        let end = self.end(counts);
        let begin = self.begin(case, counts);
        let schema = world::schema(self.number);
        let client = &mut self.hostile;
        client.push(RESET, b"");
        if self.elsewhere {
            client.push(INIT_DB, schema.as_bytes());
        }
        client.push(QUERY, begin.setup.as_bytes());
        earlier.iter().for_each(|packet| client.push(QUERY, packet));
        begin.marks.iter().for_each(|sql| client.push(QUERY, sql.as_bytes()));
        match case.protocol {
            Protocol::Text => {
                client.push(QUERY, text);
                end.iter().for_each(|sql| client.push(QUERY, sql.as_bytes()));
            }
            Protocol::Prepared => client.push(PREPARE, text),
        }
        client.flush()?;
        client.read_reply(Shape::Results)?;
        if std::mem::take(&mut self.elsewhere) {
            client.read_reply(Shape::Results)?;
        }
        let mut session = Session::new(&client.version).in_schema(schema.clone());
        let begun = client.read_reply(Shape::Results)?;
        if let Some((code, message)) = begun.error
            && code != 1115
        {
            bail!("setup failed: {code} {message}: {}", begin.setup);
        }
        session.no_backslash_escapes = begun.status.unwrap_or(0) & NO_BACKSLASH_ESCAPES != 0;
        for sql in &case.setup.sql() {
            session.run(sql.as_bytes(), Answer::Succeeded);
        }
        let mut replies = Vec::new();
        for packet in earlier {
            let reply = client.read_reply(Shape::Results)?;
            if let Some(status) = reply.status {
                session.no_backslash_escapes = status & NO_BACKSLASH_ESCAPES != 0;
            }
            session.run(packet, answer_of(&reply));
            replies.push(reply);
        }
        let earlier = replies;
        let mut counted_before = None;
        for _ in &begin.marks {
            counted_before = counted_before.or(read_count(&client.read_reply(Shape::Rows)?));
        }
        let replies = match case.protocol {
            Protocol::Text => vec![client.read_reply(Shape::Results)?],
            Protocol::Prepared => self.execute(&end)?,
        };
        let probe = self.hostile.read_reply(Shape::Rows)?;
        let mut counted = None;
        if end.len() > 1 {
            let count = read_count(&self.hostile.read_reply(Shape::Rows)?);
            let before = if begin.marks.len() > 1 { counted_before } else { Some(0) };
            counted = count.zip(before).map(|(after, before)| after.saturating_sub(before));
        }
        let is_here = read_probe(&probe).and_then(|after| after.schema).is_some_and(|is| is == schema);
        self.elsewhere = !is_here;
        Ok(Run { session, earlier, replies, probe, counted, file_written: self.take_files(case) })
    }

    /// Whether the session's counters are asked: on MariaDB only they tell what EXECUTE has run.
    fn counts(&self, case: &Case) -> Counts {
        let executes = case.mentions("execute") || case.protocol == Protocol::Prepared;
        if self.place.flavor == Flavor::Mariadb && executes { Counts::Asked } else { Counts::Omitted }
    }

    /// The queries in front of a packet. Through a proxy a rule forbids the packets before it as well, so that the mark stands
    /// in front of all; directly it stands behind them.
    fn begin(&self, case: &Case, counts: Counts) -> Begin {
        let mark = format!("DO '{BEGIN_MARK}'");
        let mut setup = case.setup.sql();
        if case.earlier.is_empty() || matches!(self.place.through, Through::Proxy(..)) {
            setup.push(mark);
            return Begin { setup: setup.join(";"), marks: Vec::new() };
        }
        setup.push("DO 1".to_owned());
        let count = (counts == Counts::Asked).then(|| COUNT.to_owned());
        Begin { setup: setup.join(";"), marks: count.into_iter().chain([mark]).collect() }
    }

    /// The queries behind a packet: the mark of its end, and the session's counters.
    fn end(&self, counts: Counts) -> Vec<String> {
        let mark = match &self.place.through {
            Through::Directly => probe(self.thread),
            // A rule may refuse the probe, and never this.
            Through::Proxy(..) => format!("DO '{END_MARK}'"),
        };
        let count = (counts == Counts::Asked).then(|| COUNT.to_owned());
        [mark].into_iter().chain(count).collect()
    }

    fn execute(&mut self, end: &[String]) -> Result<Vec<Reply>> {
        let client = &mut self.hostile;
        let prepared = client.read_reply(Shape::Prepared)?;
        let id = prepared.statement_id;
        let mut replies = vec![prepared];
        if let Some(id) = id {
            let parameters = replies.first().map_or(0, |reply| usize::from(reply.parameters));
            let mut body = id.to_le_bytes().to_vec();
            body.extend_from_slice(&[0, 1, 0, 0, 0]);
            if parameters > 0 {
                body.resize(body.len() + parameters.div_ceil(8), 0xFF);
                body.push(1);
                // MYSQL_TYPE_NULL
                body.extend(std::iter::repeat_n([6, 0], parameters).flatten());
            }
            client.push(EXECUTE, &body);
        }
        end.iter().for_each(|sql| client.push(QUERY, sql.as_bytes()));
        client.flush()?;
        if id.is_some() {
            replies.push(client.read_reply(Shape::Results)?);
        }
        Ok(replies)
    }

    /// Whether the packet has written a file: the one that the grammar names, or a stray one, in the way of DROP DATABASE.
    fn take_files(&self, case: &Case) -> bool {
        if !case.mentions("file") {
            return false;
        }
        let text = case.text.to_ascii_lowercase();
        let is_own = text.windows(4).any(|part| part == b"file") || matches!(self.place.through, Through::Proxy(..));
        // The server takes a path with a folder in it from its own, the data folder.
        let path = self.place.data.with_file_name(format!("out{}", self.number));
        let written = std::fs::remove_file(path).is_ok();
        let schema = world::schema(self.number);
        let folders = [format!("{schema}b"), schema].map(|schema| std::fs::read_dir(self.place.data.join(schema)));
        let paths = folders.into_iter().flatten().flatten().flatten().map(|entry| entry.path());
        let known = ["ibd", "MYD", "MYI", "sdi", "frm", "opt", "TRG", "TRN", "MAI", "MAD"];
        let is_stray =
            |path: &PathBuf| !path.extension().is_some_and(|extension| known.iter().any(|known| extension == *known));
        let strays = paths.filter(is_stray).filter(|path| std::fs::remove_file(path).is_ok()).count();
        (strays > 0 || written) && is_own
    }

    fn judge(&mut self, cases: &[Case], runs: Vec<Run>) -> Result<Vec<Outcome>> {
        let started = Instant::now();
        // The event of a statement ends after its reply was sent, and before the next command.
        self.reset_session();
        let history = history(&mut self.judge, self.thread, self.last_event)?;
        self.last_event = history.events.last().map_or(self.last_event, |event| event.id);
        let texts: Vec<&[u8]> = cases.iter().map(|case| case.text.as_slice()).collect();
        let packets = split(&history, &texts);
        self.spent.judging += started.elapsed();
        if packets.len() != cases.len() {
            self.dirty = true;
            self.broken = true;
            if let [_] = cases {
                return Ok(vec![Outcome { happened: None, failures: Vec::new(), reading: None }]);
            }
            self.spent.splits += 1;
            let mut outcomes = Vec::new();
            for case in cases {
                outcomes.extend(self.run(std::slice::from_ref(case))?);
            }
            return Ok(outcomes);
        }
        let judged = cases.iter().zip(runs).zip(packets);
        Ok(judged.map(|((case, run), seen)| self.outcome(case, &run, seen)).collect())
    }

    /// Adds the replies to the evidence, and compares.
    fn outcome(&mut self, case: &Case, run: &Run, seen: Happened) -> Outcome {
        let succeeded = run.replies.iter().map(|reply| reply.succeeded).sum();
        let is_judged_whole = matches!(self.place.through, Through::Proxy(..));
        let earlier = run.earlier.iter().filter(|_| is_judged_whole);
        let error = run.replies.iter().chain(earlier).find_map(|reply| reply.error.clone());
        let status = run.replies.last().and_then(|reply| reply.status).unwrap_or(0);
        let happened = Happened {
            succeeded,
            error,
            in_transaction: status & IN_TRANSACTION != 0,
            after: read_probe(&run.probe),
            counted_ddl: run.counted.is_some_and(|count| count > 0),
            file_written: run.file_written,
            ..seen
        };
        self.broken |= happened.events.iter().any(|event| !event.failed) && (happened.ran_ddl() || may_ddl(&happened));
        self.dirty |= happened.tables.values().any(|access| access.rows_written || access.opened_to_write);
        let text = for_worker(&case.text, self.number);
        let answers: Vec<Answer> = run.replies.iter().map(answer_of).collect();
        let answer = if answers.contains(&Answer::Failed) { Answer::Failed } else { Answer::Succeeded };
        let mut session = run.session.clone();
        let reading = match case.protocol {
            Protocol::Text => session.run(&text, answer),
            Protocol::Prepared => session.run_prepared(&text, answer),
        };
        let failures = self.failures(case, run, &reading, &happened);
        Outcome { happened: Some(happened), failures, reading: Some(reading) }
    }

    fn failures(&self, case: &Case, run: &Run, reading: &Reading, happened: &Happened) -> Vec<Milder> {
        match &self.place.through {
            Through::Directly => {
                let comparison =
                    Comparison { case, session: &run.session, reading, happened, catalogue: self.place.catalogue };
                comparison.failures()
            }
            Through::Proxy(_, rule) => {
                let passed = rule.passed(case, happened, &run.session, self.place.catalogue);
                passed.map(|detail| Milder { kind: Kind::Rule, detail }).into_iter().collect()
            }
        }
    }
}

fn answer_of(reply: &Reply) -> Answer {
    if reply.error.is_none() { Answer::Succeeded } else { Answer::Failed }
}

fn may_ddl(happened: &Happened) -> bool {
    happened
        .events
        .iter()
        .any(|event| matches!(event.name.as_str(), "com/Execute" | "compound_sql" | "package" | "create_package"))
}

/// Connects as the worker's user, and finds the server's thread that serves it.
fn connect(place: &Place, judge: &mut Client, number: usize) -> Result<(Client, u64)> {
    let address = match &place.through {
        Through::Directly => &place.address,
        Through::Proxy(address, _) => address,
    };
    let mut client = world::connect(address, number)?;
    let value = |rows: Vec<Vec<Option<Vec<u8>>>>| -> Result<u64> {
        let value = rows.first().and_then(|row| row.first()).and_then(Clone::clone).context("no value")?;
        Ok(String::from_utf8(value)?.parse()?)
    };
    // Behind a proxy it is not that of the greeting.
    let id = value(client.rows("SELECT CONNECTION_ID()")?)?;
    client.connection_id = u32::try_from(id)?;
    let sql = format!("SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID={id}");
    Ok((client, value(judge.rows(&sql)?)?))
}

/// The text with the worker's number in place of each `$`, and its file's path.
pub fn for_worker(text: &[u8], number: usize) -> Vec<u8> {
    let digit = b'0' + u8::try_from(number).unwrap_or(0) % 10;
    let mut own: Vec<u8> = text.iter().map(|&byte| if byte == WORKER { digit } else { byte }).collect();
    let path = format!("../out{number}");
    while let Some(at) = own.windows(5).position(|part| part == b"@file") {
        drop(own.splice(at..at + 5, path.bytes()));
    }
    own
}
