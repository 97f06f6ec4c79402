use super::*;

const MYSQL: Mode = Mode {
    no_backslash_escapes: false,
    ansi_quotes: false,
    brackets: false,
    server: Server::MySql(90_704),
    extent: Extent::Whole,
    charset: Charset::Plain,
};
const MARIADB: Mode = Mode { server: Server::MariaDb(101_106), ..MYSQL };
const UNKNOWN: Mode = Mode { server: Server::Unknown, ..MYSQL };
const CUT: Mode = Mode { extent: Extent::Cut, ..MYSQL };

/// Each token as a letter for its kind and its text: `w:SELECT n:1`.
fn tokens(sql: &[u8], mode: Mode) -> String {
    let lexer = Lexer::new(sql, mode);
    let shown: Vec<String> = lexer
        .clone()
        .map(|token| {
            let letter = match token.kind {
                Kind::Word => "w:",
                Kind::QuotedWord => "q:",
                Kind::String => "s:",
                Kind::Number => "n:",
                Kind::Variable => "v:",
                Kind::Symbol(_) => "",
            };
            format!("{letter}{}", String::from_utf8_lossy(lexer.text(&token)))
        })
        .collect();
    shown.join(" ")
}

#[track_caller]
fn check(mode: Mode, sql: &str, expected: &str) {
    assert_eq!(tokens(sql.as_bytes(), mode), expected, "{sql}");
}

#[test]
fn words_numbers_and_variables() {
    check(MYSQL, "", "");
    check(MYSQL, "\u{feff}SELECT 1", "w:SELECT n:1");
    check(MYSQL, "a.b=.5", "w:a . w:b = n:.5");
    check(MYSQL, "t.1a t.5 `t`.5", "w:t . w:1a w:t . w:5 q:`t` . w:5");
    check(MYSQL, "1 1.5 1. 1e5 1e+5 1.5e-3 1e 1ea 12ab", "n:1 n:1.5 n:1. n:1e5 n:1e+5 n:1.5e-3 w:1e w:1ea w:12ab");
    check(MYSQL, "0x1F 0X1F 0x 0xZ 0b01 0b2", "n:0x1F w:0X1F w:0x w:0xZ n:0b01 w:0b2");
    check(MYSQL, "x'1f' X'1F' b'01' x'zz' N'a' _utf8'b'", "n:x'1f' n:X'1F' n:b'01' s:x'zz' s:N'a' w:_utf8 s:'b'");
    check(MYSQL, "@a @@b @@global.c @`x y` @'z' @ a@b.c", "v:@a v:@@b v:@@global . w:c v:@`x y` v:@'z' @ w:a v:@b.c");
    check(MYSQL, "$a é 日本", "w:$a w:é w:日本");
    check(MYSQL, "a<=1;b", "w:a < = n:1 ; w:b");
    check(MYSQL, "1-1--1", "n:1 - n:1 - - n:1");
}

#[test]
fn quotes() {
    check(MYSQL, r"'a\'b' c", r"s:'a\'b' w:c");
    check(MYSQL, "'a''b' c", "s:'a''b' w:c");
    check(MYSQL, r#""a\"b""c" d"#, r#"s:"a\"b""c" w:d"#);
    check(MYSQL, r"`a\` b ```c`", r"q:`a\` w:b q:```c`");
    check(MYSQL, "'/* -- # ;' a", "s:'/* -- # ;' w:a");
    check(MYSQL, "'open; KILL 5", "s:'open; KILL 5");
    check(MYSQL, "'\\", "s:'\\");
    let plain = Mode { no_backslash_escapes: true, ..MYSQL };
    check(plain, r"'\' a '\''' b", r"s:'\' w:a s:'\''' w:b");
    let ansi = Mode { ansi_quotes: true, ..MYSQL };
    check(ansi, r#""a\" b '"'"#, r#"q:"a\" w:b s:'"'"#);
}

#[test]
fn comments() {
    check(MYSQL, "1 -- x\n+1", "n:1 + n:1");
    check(MYSQL, "1 --x\n+1", "n:1 - - w:x + n:1");
    check(MYSQL, "1 --\x01 1", "n:1");
    check(MYSQL, "1 --", "n:1");
    check(MYSQL, "1 --; ;", "n:1");
    check(MYSQL, "1 --;2", "n:1 - - ; n:2");
    check(MYSQL, "5--\n+1", "n:5 + n:1");
    check(MYSQL, "1 # x\n+1 #", "n:1 + n:1");
    check(MYSQL, "1 /* a /* b */ + 1", "n:1 + n:1");
    check(MYSQL, "1 /*/ +1 */ +2", "n:1 + n:2");
    check(MYSQL, "1 /*+ hint */", "n:1");
    check(MYSQL, "1 /* open", "n:1");
    check(MYSQL, "1 */ 2", "n:1 * / n:2");
}

#[test]
fn code_comments() {
    for mode in [MYSQL, MARIADB, UNKNOWN] {
        check(mode, "1 /*! + 1 /* c */ + 2 */ + 3", "n:1 + n:1 + n:2 + n:3");
        check(mode, "1 /*!50000+1*/", "n:1 + n:1");
        check(mode, "1 /*!8000+1*/", "n:1 n:8000 + n:1");
        check(mode, "1 /*! + '*/' */", "n:1 + s:'*/'");
        check(mode, "1 /*! -- */\n+1 */", "n:1 + n:1");
        check(mode, "1 /*! +1", "n:1 + n:1");
    }
    check(MYSQL, "1 /*! +1 /*!80000 +1 */ +1 */", "n:1 + n:1 + n:1 + n:1 * /");
    check(MYSQL, "1 /*!90704+1*/ /*!90705+2*/", "n:1 + n:1");
    check(MYSQL, "1 /*!090704 +1*/ /*!090705 +2*/", "n:1 + n:1");
    check(MYSQL, "1 /*!080000+1*/", "n:1 n:0 + n:1");
    check(MYSQL, "1 /*!800001+1*/", "n:1 n:1 + n:1");
    check(MYSQL, "1 /*!99999 + /* c */ 1 */ + 2", "n:1 + n:2");
    check(MYSQL, "1 /*!99999 /* /* */ */ +1", "n:1 + n:1");
    check(MYSQL, "1 /*!99999 ' # */ +1", "n:1 + n:1");
    check(MYSQL, "1 /*!99999 open", "n:1");
    check(MYSQL, "1 /*M! +1 */", "n:1");
    check(MARIADB, "1 /*M! +1 */ /*M!100000 +2*/ /*M!80000+3*/", "n:1 + n:1 + n:2 + n:3");
    check(MARIADB, "1 /*!80000 +1*/ /*!100100+2*/ /*!110000 +3*/", "n:1 + n:2");
    check(UNKNOWN, "1 /*!99999 +1*/ /*M!110000 +2*/", "n:1 + n:1 + n:2");
}

#[test]
fn of_a_cut_text_no_token_that_may_go_on() {
    check(CUT, "KILL 12", "w:KILL");
    check(CUT, "KILL 12 ", "w:KILL n:12");
    check(CUT, "SELECT 'a", "w:SELECT");
    check(CUT, "SELECT 'a'", "w:SELECT");
    check(CUT, "a /* b", "w:a");
    check(CUT, "a -", "w:a");
}
