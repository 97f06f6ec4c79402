//! Packets from the grammar in `grammar.txt`, decorated with white space and comments, and mutated.

use std::collections::{BTreeMap, HashMap};

use sandbox::Flavor;

use crate::case::{Case, Protocol, Setup};
use crate::random::Random;

const SOURCE: &str = include_str!("grammar.txt");

/// The token that ends a packet and begins the next one of the same session.
const NEXT: &[u8] = b"@next";

/// Rules nest no deeper; below it the first alternative of a rule is taken.
const DEPTH: u32 = 14;

#[derive(Debug)]
struct Alternative {
    /// Its number among all alternatives of the grammar.
    number: usize,
    /// As the file has it.
    line: &'static str,
    weight: usize,
    tokens: Vec<Token>,
}

/// A token is a row of pieces without space between them.
#[derive(Debug)]
struct Token {
    glued: bool,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Rule(usize),
}

/// The grammar of one flavour.
#[derive(Debug)]
pub struct Grammar {
    flavor: Flavor,
    names: Vec<String>,
    rules: Vec<Vec<Alternative>>,
    packet: usize,
    danger: usize,
}

/// Tokens with the gaps that stand before them.
type Tokens = Vec<(bool, Vec<u8>)>;

impl Grammar {
    /// Panics on a fault of `grammar.txt`, which is part of this program.
    pub fn new(flavor: Flavor) -> Grammar {
        let mut grammar = Grammar { flavor, names: Vec::new(), rules: Vec::new(), packet: 0, danger: 0 };
        let mut numbers = HashMap::new();
        for line in SOURCE.lines().filter_map(|line| line.strip_prefix(':')) {
            assert!(numbers.insert(line.to_owned(), grammar.names.len()).is_none(), "rule {line} twice");
            grammar.names.push(line.to_owned());
            grammar.rules.push(Vec::new());
        }
        let mut current = None;
        let mut number = 0;
        for line in SOURCE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix(':') {
                Some(name) => current = numbers.get(name).copied(),
                None => {
                    let rule = current.expect("a rule before the first alternative");
                    if let Some(alternative) = alternative(line, number, flavor, &numbers) {
                        grammar.rules[rule].push(alternative);
                        number += 1;
                    }
                }
            }
        }
        for (name, rule) in grammar.names.iter().zip(&grammar.rules) {
            assert!(!rule.is_empty(), "rule {name} has no alternative");
        }
        grammar.packet = numbers["packet"];
        grammar.danger = numbers["danger"];
        grammar
    }

    /// Rules and alternatives that no packet was made of: `rule: alternative`, or the rule alone if none of its alternatives was
    /// taken. `hits` counts packets by the numbers of alternatives.
    pub fn never_generated(&self, hits: &[u64]) -> Vec<String> {
        let is_hit = |alternative: &&Alternative| hits.get(alternative.number).is_some_and(|hits| *hits > 0);
        let mut never = Vec::new();
        for (name, rule) in self.names.iter().zip(&self.rules) {
            if !rule.iter().any(|alternative| is_hit(&alternative)) {
                never.extend((!self.is_foreign(name)).then(|| name.clone()));
                continue;
            }
            let missed = rule.iter().filter(|alternative| !is_hit(alternative));
            never.extend(missed.map(|alternative| format!("{name}: {}", alternative.line)));
        }
        never
    }

    /// Only alternatives of the other flavour lead to this rule.
    fn is_foreign(&self, rule: &str) -> bool {
        let reference = format!("<{rule}>");
        let mut leading = SOURCE.lines().filter(|line| line.contains(&reference)).peekable();
        leading.peek().is_some() && leading.all(|line| line.starts_with(other_flavor(self.flavor)))
    }

    /// Hits of rules from those of their alternatives.
    pub fn rules_hit(&self, hits: &[u64]) -> BTreeMap<String, u64> {
        let sum = |rule: &[Alternative]| rule.iter().filter_map(|alternative| hits.get(alternative.number)).sum();
        let rules = self.names.iter().zip(&self.rules);
        rules.map(|(name, rule)| (name.clone(), sum(rule))).filter(|(_, hits)| *hits > 0).collect()
    }

    /// A packet, the numbers of the alternatives that it was made of, and its decoration.
    pub fn generate(&self, random: &mut Random, seeds: &[Case]) -> (Case, Vec<usize>, &'static str) {
        if !seeds.is_empty() && random.percent(4) {
            let mut case = random.pick(seeds).clone();
            self.mutate(&mut case.text, random);
            return (case, Vec::new(), "mutated corpus");
        }
        let mut used = Vec::new();
        let mut tokens = Vec::new();
        self.expand(self.packet, random, 0, &mut tokens, &mut used);
        let decoration = *random.pick(&["plain", "plain", "plain", "plain", "light", "light", "heavy"]);
        let parts = tokens.split(|(_, token)| token == NEXT);
        let mut packets: Vec<Vec<u8>> = parts.map(|part| render(part, decoration, random)).collect();
        let mut decorated = decoration;
        if random.percent(6) {
            let at = random.below(packets.len());
            self.mutate(&mut packets[at], random);
            decorated = "mutated";
        }
        let text = packets.pop().unwrap_or_default();
        let protocol = if random.percent(8) { Protocol::Prepared } else { Protocol::Text };
        (Case { setup: setup(random, self.flavor), earlier: packets, protocol, text }, used, decorated)
    }

    fn expand(&self, rule: usize, random: &mut Random, depth: u32, tokens: &mut Tokens, used: &mut Vec<usize>) {
        let alternatives = &self.rules[rule];
        let chosen = if depth > DEPTH { &alternatives[0] } else { weighted(alternatives, random) };
        used.push(chosen.number);
        for token in &chosen.tokens {
            let mut glued = token.glued;
            if let [Piece::Rule(rule)] = token.pieces.as_slice() {
                let start = tokens.len();
                self.expand(*rule, random, depth + 1, tokens, used);
                if let (true, Some(first)) = (glued, tokens.get_mut(start)) {
                    first.0 = true;
                }
                continue;
            }
            for piece in &token.pieces {
                match piece {
                    Piece::Bytes(bytes) => {
                        match tokens.last_mut() {
                            Some(last) if glued => last.1.extend_from_slice(bytes),
                            Some(_) | None => tokens.push((glued, bytes.clone())),
                        }
                        glued = true;
                    }
                    Piece::Rule(rule) => {
                        let start = tokens.len();
                        self.expand(*rule, random, depth + 1, tokens, used);
                        if glued && let Some(first) = tokens.get_mut(start) {
                            first.0 = true;
                        }
                        glued = true;
                    }
                }
            }
        }
    }

    /// Flips, inserts, doubles and removes bytes, or splices a fragment of another packet.
    fn mutate(&self, text: &mut Vec<u8>, random: &mut Random) {
        const ODD: &[&[u8]] = &[
            b"'",
            b"\"",
            b"`",
            b"\\",
            b";",
            b"/*",
            b"*/",
            b"/*!",
            b"/*!50000",
            b"/*!99999 ",
            b"-- ",
            b"--",
            b"#",
            b"\n",
            b"\x0b",
            b"\x0c",
            b"\xA0",
            b"\xFF",
            b"\x00",
            b"\x81",
            b"\x81\\",
            b"(",
            b")",
            b" ",
            b",",
            b".",
            b"@",
            b"@@",
            b"''",
            b"\\'",
            b"f()",
            b"=",
            b"1",
            b"{",
            b"}",
            b":=",
            b"N'",
            b"x'",
            b"_gbk",
            b" secret ",
            b"\r",
            b"--\n",
        ];
        for _ in 0..=random.below(3) {
            let at = random.below(text.len() + 1).min(text.len());
            match random.below(6) {
                0 => {
                    if let Some(byte) = text.get_mut(at) {
                        *byte ^= 1 << random.below(8);
                    }
                }
                1 | 2 => drop(text.splice(at..at, random.pick(ODD).iter().copied())),
                3 => {
                    let end = (at + 1 + random.below(6)).min(text.len());
                    text.drain(at..end);
                }
                4 => {
                    let end = (at + 1 + random.below(20)).min(text.len());
                    let part = text[at..end].to_vec();
                    let to = random.below(text.len() + 1).min(text.len());
                    drop(text.splice(to..to, part));
                }
                _ => {
                    let mut tokens = Vec::new();
                    self.expand(self.danger, random, 8, &mut tokens, &mut Vec::new());
                    drop(text.splice(at..at, render(&tokens, "plain", random)));
                }
            }
        }
    }
}

fn weighted<'a>(alternatives: &'a [Alternative], random: &mut Random) -> &'a Alternative {
    let total: usize = alternatives.iter().map(|alternative| alternative.weight).sum();
    let mut at = random.below(total);
    for alternative in alternatives {
        match at.checked_sub(alternative.weight) {
            Some(rest) => at = rest,
            None => return alternative,
        }
    }
    &alternatives[0]
}

/// The sign of the alternatives that a flavour does not have.
fn other_flavor(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::Mysql => "ma ",
        Flavor::Mariadb => "my ",
    }
}

/// `None`: of the other flavour.
fn alternative(
    line: &'static str,
    number: usize,
    flavor: Flavor,
    numbers: &HashMap<String, usize>,
) -> Option<Alternative> {
    if line.starts_with(other_flavor(flavor)) {
        return None;
    }
    let mut line = line.strip_prefix("my ").or_else(|| line.strip_prefix("ma ")).unwrap_or(line);
    let mut weight = 1;
    if let Some((given, rest)) = line.split_once("* ")
        && let Ok(given) = given.parse()
    {
        weight = given;
        line = rest;
    }
    let tokens = line.split(' ').filter(|token| !token.is_empty() && *token != "_").map(|token| {
        let glued = token.starts_with('~') && token.len() > 1;
        let token = if glued { &token[1..] } else { token };
        Token { glued, pieces: pieces(token, numbers) }
    });
    Some(Alternative { number, line, weight, tokens: tokens.collect() })
}

fn pieces(token: &str, numbers: &HashMap<String, usize>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut bytes = Vec::new();
    let mut rest = token;
    while let Some(first) = rest.chars().next() {
        if first == '<'
            && let Some((name, after)) = rest[1..].split_once('>')
            && let Some(&number) = numbers.get(name)
        {
            if !bytes.is_empty() {
                pieces.push(Piece::Bytes(std::mem::take(&mut bytes)));
            }
            pieces.push(Piece::Rule(number));
            rest = after;
            continue;
        }
        let escaped = rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
        let (byte, length) = match escaped {
            Some('x') => (u8::from_str_radix(&rest[2..4], 16).expect("two digits"), 4),
            Some('s') => (b' ', 2),
            Some('n') => (b'\n', 2),
            Some('t') => (b'\t', 2),
            Some(other) => (other as u8, 2),
            None => (first as u8, first.len_utf8()),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    if !bytes.is_empty() {
        pieces.push(Piece::Bytes(bytes));
    }
    if pieces.is_empty() { vec![Piece::Bytes(Vec::new())] } else { pieces }
}

const VERSIONS: &[&[u8]] = &[
    b"", b"", b"40100", b"50000", b"50700", b"80000", b"80400", b"90000", b"90704", b"90705", b"99999", b"080000",
    b"100100", b"101118", b"101199", b"110000", b"999999", b"0", b"5000", b"50000 ",
];

/// Puts the tokens together. A versioned comment may open before one token and close before a later one.
fn render(tokens: &[(bool, Vec<u8>)], decoration: &str, random: &mut Random) -> Vec<u8> {
    let percent = match decoration {
        "plain" => 0,
        "light" => 12,
        _ => 45,
    };
    let mut text = Vec::new();
    let mut open = false;
    for (at, (glued, token)) in tokens.iter().enumerate() {
        if !glued && (at > 0 || percent > 0) {
            if random.percent(percent) {
                gap(&mut text, &mut open, random)
            } else if at > 0 {
                text.push(b' ')
            }
        }
        if token == b"@pad" || token.windows(4).any(|part| part == b"@pad") {
            let before = token.windows(4).position(|part| part == b"@pad").unwrap_or(0);
            text.extend_from_slice(&token[..before]);
            // Around the inspection limit, and far below it.
            let length = *random.pick(&[300, 3_000, 16_300, 16_384, 16_400, 66_000]);
            text.resize(text.len() + length, b'x');
            text.extend_from_slice(&token[before + 4..]);
            continue;
        }
        text.extend_from_slice(token);
    }
    if open {
        text.extend_from_slice(b" */");
    }
    text
}

fn gap(text: &mut Vec<u8>, open: &mut bool, random: &mut Random) {
    const SPACES: &[&[u8]] = &[
        b"  ",
        b"\n",
        b"\t",
        b"\x0b",
        b"\x0c",
        b"\r\n",
        b"/**/",
        b"/* c */",
        b" -- c\n",
        b" #c\n",
        b" --\n",
        b"/*'*/",
        b" -- '\n",
        b" #\"\n",
        b"/*;*/",
        b"\xA0",
        b"\xFF",
        b"\x00",
        b" /*+ x */ ",
        b"/* \\*/",
        b"/*`*/ ",
        b" --\t\n",
        b"/*! */",
        b" /*!99999 x */ ",
        b"/*!999999 'x */",
        b"/*M! */",
        b"/*M!999999 y*/",
        b"/*!99999 /* */ */",
        b"/*/ */",
        b" /***/ ",
        b"\x1f",
        b" --\x01\n",
        b"/* /* */",
        b"\xc2\xa0",
        b"/*!50000*/",
        b"/*\x81*/",
        b" -- \xA1\n",
    ];
    if *open && random.percent(40) {
        text.extend_from_slice(b" */ ");
        *open = false;
    } else if !*open && random.percent(15) {
        text.extend_from_slice(if random.percent(15) { b" /*M!" } else { b" /*!" });
        text.extend_from_slice(random.pick::<&[u8]>(VERSIONS));
        text.push(b' ');
        *open = true;
    } else {
        text.extend_from_slice(random.pick::<&[u8]>(SPACES));
    }
}

const CHARSETS: &[&str] = &[
    "utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4", "latin1", "latin1", "gbk", "gbk", "sjis", "big5",
    "cp932", "utf8mb3", "ascii", "binary", "latin2", "greek", "hebrew", "cp852", "cp866", "cp1251", "cp850", "koi8r",
    "euckr", "gb2312", "ujis", "eucjpms", "tis620", "cp1250", "cp1256", "cp1257", "macroman", "macce", "dec8", "hp8",
    "swe7", "armscii8", "geostd8", "keybcs2", "koi8u", "latin5", "latin7",
];

const MODES: &[&str] = &[
    "",
    "",
    "",
    "",
    "",
    "",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES",
    "ANSI_QUOTES,NO_BACKSLASH_ESCAPES",
    "IGNORE_SPACE",
    "ANSI",
    "PIPES_AS_CONCAT",
    "HIGH_NOT_PRECEDENCE",
    "STRICT_ALL_TABLES",
    "NO_AUTO_VALUE_ON_ZERO",
];

fn setup(random: &mut Random, flavor: Flavor) -> Setup {
    let mut charset = (*random.pick(CHARSETS)).to_owned();
    if flavor == Flavor::Mysql && random.percent(3) {
        charset = "gb18030".to_owned();
    }
    let mut sql_mode = (*random.pick(MODES)).to_owned();
    if flavor == Flavor::Mariadb && random.percent(8) {
        sql_mode = (*random.pick(&["ORACLE", "MSSQL", "DB2", "MAXDB"])).to_owned();
    }
    let before =
        *random.pick(&["", "", "", "", "", "", "", "", "BEGIN", "SET autocommit=0", "SET @v='UPDATE t SET a=3'"]);
    Setup { charset, sql_mode, before: before.to_owned() }
}

/// Adds the numbers of one packet's alternatives to the counts.
pub fn count_hits(hits: &mut Vec<u64>, used: &[usize]) {
    for &number in used {
        if hits.len() <= number {
            hits.resize(number + 1, 0);
        }
        if let Some(count) = hits.get_mut(number) {
            *count += 1;
        }
    }
}

/// Counts of names, most frequent first.
pub fn sorted<K: Ord + Clone>(counts: &BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut sorted: Vec<_> = counts.iter().map(|(name, count)| (name.clone(), *count)).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar_is_complete_and_a_seed_repeats() {
        for flavor in [Flavor::Mysql, Flavor::Mariadb] {
            let grammar = Grammar::new(flavor);
            for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
                for name in line.split('<').skip(1).filter_map(|part| part.split_once('>')).map(|(name, _)| name) {
                    let is_word =
                        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
                    assert!(!is_word || grammar.names.iter().any(|known| known == name), "no rule {name}: {line}");
                }
            }
            let texts = |seed| {
                let mut random = Random::new(seed);
                (0..200).map(|_| grammar.generate(&mut random, &[]).0.text).collect::<Vec<_>>()
            };
            assert_eq!(texts(5), texts(5));
            assert_ne!(texts(5), texts(6));
        }
    }

    #[test]
    fn never_generated_shrinks_with_packets() {
        let grammar = Grammar::new(Flavor::Mysql);
        let mut random = Random::new(5);
        let mut hits = Vec::new();
        let all = grammar.never_generated(&hits);
        let own: Vec<&String> = grammar.names.iter().filter(|name| !grammar.is_foreign(name)).collect();
        assert!(all.iter().eq(own), "only the rules, if nothing was generated: {all:?}");
        for _ in 0..300 {
            count_hits(&mut hits, &grammar.generate(&mut random, &[]).1);
        }
        let never = grammar.never_generated(&hits);
        let of_packet = |line: &&String| line.starts_with("packet");
        assert!(!never.is_empty() && !never.iter().any(|line| of_packet(&line)), "{never:?}");
        assert_eq!(grammar.rules_hit(&hits).get("packet"), Some(&300));
    }

    #[test]
    fn every_alternative_is_generated() {
        for flavor in [Flavor::Mysql, Flavor::Mariadb] {
            let grammar = Grammar::new(flavor);
            let mut random = Random::new(5);
            let mut hits = Vec::new();
            for _ in 0..60_000 {
                count_hits(&mut hits, &grammar.generate(&mut random, &[]).1);
            }
            let never = grammar.never_generated(&hits);
            assert!(never.len() * 50 < hits.len(), "{flavor}: {never:#?}");
            let rules: Vec<_> = never.iter().filter(|line| !line.contains(": ")).collect();
            assert!(rules.is_empty(), "{flavor}: rules that nothing leads to: {rules:?}");
        }
    }
}
