//! Where tags may stand.

use super::*;

/// leading | infix | trailing
#[track_caller]
fn regions(mode: Mode, sql: &str) -> String {
    let scan = scan(sql.as_bytes(), mode);
    let text = |range: &Range<usize>| sql.get(range.clone()).unwrap_or("?").to_owned();
    let infix = scan.infix.as_ref().map_or("-".to_owned(), text);
    format!("{}|{infix}|{}", text(&scan.leading), text(&scan.trailing))
}

#[test]
fn regions_of_comments() {
    for (sql, expected) in [
        ("SELECT 1", "|-|"),
        ("/*a:b*/ SELECT 1", "/*a:b*/ |-|"),
        ("SELECT 1 /*a='b'*/", "|-| /*a='b'*/"),
        ("/*a*/ SELECT 1 /*b*/;", "/*a*/ |-| /*b*/;"),
        ("/*a*/;/*b*/ SELECT 1; -- c", "/*a*/;/*b*/ |-|; -- c"),
        ("SELECT 1; /*a*/ SELECT 2 /*b*/", "|a| /*b*/"),
        ("insert /* gh-ost `a`.`b` */ ignore into t values (1)", "| gh-ost `a`.`b` |"),
        ("SELECT /*+ NO_ICP(t) */ /*x*/ a FROM t", "|x|"),
        ("SELECT /*! a */ /*x*/ FROM t", "|x|"),
        // Never in a literal.
        ("SELECT '/*a:b*/'", "|-|"),
        ("SELECT `/*a*/` /*b*/", "|-| /*b*/"),
        // Code is no place for tags, nor is what may be code elsewhere.
        ("/*! SELECT */ 1", "|-|"),
        ("/*a*/ /*! /*b*/ SELECT */ 1 /*c*/", "/*a*/ |-| /*c*/"),
        ("SELECT 1 /*! /*a*/ */ /*b*/", "|-| /*b*/"),
        ("SELECT 1 /*!99999 /*a*/ */ /*b*/", "|-| /*b*/"),
        ("SELECT /*!50000 1 /*a*/", "|-|"),
        ("# a\nSELECT 1 -- b", "# a\n|-| -- b"),
        ("/*a*/", "/*a*/|-|"),
        ("/*a*/ /*! */", "/*a*/ |-|"),
        ("CREATE PROCEDURE p() BEGIN /*a*/ END /*b*/", "|a| /*b*/"),
        ("PREPARE s FROM 'x' /*a*/", "|-| /*a*/"),
        ("USE x /*a*/", "|-| /*a*/"),
        ("BEGIN /*a*/", "|-| /*a*/"),
        ("EXECUTE s USING @a /*a*/", "|-| /*a*/"),
    ] {
        assert_eq!(regions(MYSQL, sql), expected, "{sql}");
    }
}

#[test]
fn no_tags_where_readings_differ() {
    // Under ANSI_QUOTES the string ends at the second quote, and the comment is one.
    assert_eq!(regions(MYSQL, r#"SELECT "\", 1 /*a*/ -- ""#), "|-|");
    assert_eq!(regions(MYSQL, r#"SELECT "\\" /*a*/"#), "|-| /*a*/");
    let ambiguous = Mode { charset: Charset::Gbk, ..MYSQL };
    assert_eq!(regions(ambiguous, "/*a*/ SELECT /*b*/ 1 /*c*/"), "|-|");
    // The end of what was cut is not the end.
    let cut = Mode { extent: Extent::Cut, ..MYSQL };
    assert_eq!(regions(cut, "/*a*/ SELECT 1 /*c*/"), "/*a*/ |-|");
}
