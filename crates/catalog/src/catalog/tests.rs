use super::*;
use crate::inventory::{RoutineRow, TableRow, TriggerRow, ViewRow};

/// `table shop.t`, `view shop.v = text`, `routine shop.f = body`, `trigger shop.t = body`; `?` for what is not shown.
fn inventory(lines: &[&str]) -> Inventory {
    let mut inventory = Inventory {
        tables_seen: Sight::Everywhere,
        views_seen: Sight::Everywhere,
        routines_seen: Sight::Everywhere,
        triggers_seen: Sight::Everywhere,
        ..Inventory::default()
    };
    for line in lines {
        let (kind, rest) = line.split_once(' ').unwrap();
        let (name, text) = rest.split_once(" = ").unwrap_or((rest, ""));
        let (schema, name) = name.split_once('.').unwrap();
        let (schema, name) = (schema.to_owned(), name.to_owned());
        let body = Some(text.to_owned()).filter(|text| text != "?");
        let sql_mode = String::new();
        match kind {
            "table" => inventory.tables.push(TableRow { schema, name }),
            "view" => inventory.views.push(ViewRow {
                schema,
                name,
                definition: body,
                tables: Vec::new(),
                routines: Vec::new(),
                usage_is_complete: false,
            }),
            "routine" => inventory.routines.push(RoutineRow { schema, name, sql_mode, body }),
            "trigger" => inventory.triggers.push(TriggerRow { schema, table: name, sql_mode, body }),
            _ => panic!("{line}"),
        }
    }
    inventory
}

fn build(lines: &[&str]) -> Catalog {
    Catalog::build(inventory(lines))
}

fn table(text: &str) -> Table {
    match text.split_once('.') {
        Some((schema, name)) => Table { schema: Some(schema.into()), name: name.into() },
        None => Table { schema: None, name: text.into() },
    }
}

/// The tables, and the flags as letters: writes, ddl, dynamic (x), locks, calls and names that are unknown (c, n).
fn shown(expansion: &Expansion<'_>) -> String {
    let name = |table: &Table| match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.to_string(),
    };
    let tables: Vec<String> = expansion.tables.iter().map(name).collect();
    let flags = [
        (expansion.writes, 'w'),
        (expansion.ddl, 'd'),
        (expansion.dynamic, 'x'),
        (expansion.locks, 'l'),
        (expansion.calls_unknown, 'c'),
        (expansion.unknown_names, 'n'),
    ];
    let flags: String = flags.into_iter().filter(|(is, _)| *is).map(|(_, letter)| letter).collect();
    format!("{} {flags}", tables.join(" ")).trim().to_owned()
}

fn behind(catalog: &Catalog, name: &str, access: Access) -> String {
    let tables = [table(name)];
    shown(&catalog.tables_behind(&tables, Some(b"Shop"), access))
}

const SHOP: [&str; 15] = [
    "table shop.secret",
    "table shop.Pub",
    "table shop.audit",
    "table other.secret",
    "view shop.v1 = select `shop`.`secret`.`id` AS `id` from `shop`.`secret`",
    "view shop.V2 = select `v1`.`id` from (`shop`.`v1` join `shop`.`pub`)",
    "view shop.vf = select `f_writes`() AS `x`",
    "view shop.locks = select get_lock('a',1) AS `x`",
    "view shop.hidden = ?",
    "routine shop.f_writes = BEGIN INSERT INTO audit VALUES (1); RETURN 1; END",
    "routine shop.p = BEGIN DELETE FROM other.secret; CALL q(); END",
    "routine shop.q = BEGIN PREPARE s FROM @x; EXECUTE s; DROP TABLE nothing; CALL p(); END",
    "routine shop.drops = DROP DATABASE other",
    "routine shop.opaque = ?",
    "trigger shop.pub = BEGIN INSERT INTO secret VALUES (NEW.id); END",
];

#[test]
fn views_and_triggers_expand_to_their_tables() {
    let catalog = build(&SHOP);
    for (name, access, expected) in [
        ("secret", Access::Read, "secret"),
        ("shop.secret", Access::Write, "shop.secret"),
        ("pub", Access::Read, "pub"),
        ("pub", Access::Write, "pub shop.pub shop.secret w"),
        ("v1", Access::Read, "v1 shop.secret shop.v1"),
        ("v2", Access::Read, "v2 shop.pub shop.secret shop.v1 shop.v2"),
        ("v2", Access::Write, "v2 shop.pub shop.secret shop.v1 shop.v2 w"),
        ("vf", Access::Read, "vf shop.audit shop.vf w"),
        ("locks", Access::Read, "locks shop.locks l"),
        ("hidden", Access::Read, "hidden shop.hidden cn"),
        ("nowhere", Access::Read, "nowhere n"),
        ("other.v1", Access::Read, "other.v1 n"),
        ("information_schema.tables", Access::Read, "information_schema.tables"),
        // Of a schema that is dropped; it runs no triggers.
        ("other.*", Access::Write, "other.secret"),
        ("nowhere.*", Access::Write, ""),
    ] {
        assert_eq!(behind(&catalog, name, access), expected, "{name} {access:?}");
    }
    assert!(catalog.reads_may_write());
    assert!(!build(&SHOP[..6]).reads_may_write());
    assert_eq!(catalog.counts(), (9, 5, 5));
}

#[test]
fn names_without_a_known_schema_stand_for_all() {
    let catalog = build(&["table a.t", "table b.x", "view b.t = select 1 from `b`.`x`"]);
    let tables = [table("t")];
    let expansion = catalog.tables_behind(&tables, None, Access::Read);
    assert_eq!(shown(&expansion), "t b.t b.x n");
}

#[test]
fn names_in_any_case_are_one_object() {
    let catalog = build(&["table shop.T", "table shop.Secret", "view SHOP.t = select 1 from `shop`.`SECRET`"]);
    assert_eq!(behind(&catalog, "t", Access::Read), "t shop.secret shop.t");
}

#[test]
fn routines_reach_through_calls_and_cycles() {
    let catalog = build(&SHOP);
    let p = catalog.routine("SHOP", "P").unwrap();
    assert!(p.writes && p.ddl && p.dynamic && !p.calls_unknown && !p.unknown_names);
    assert_eq!(p.tables.to_vec(), [table("other.secret")]);
    assert_eq!(catalog.routine("shop", "q").unwrap().tables, p.tables, "they call each other");
    assert_eq!(catalog.routine("shop", "opaque"), None);
    assert_eq!(catalog.routine("shop", "nothing"), None);
    for (call, expected) in [
        ("f_writes", "shop.audit w"),
        ("shop.p", "other.secret wdx"),
        ("opaque", "c"),
        ("drops", "dx"),
        ("loadable", ""),
        ("q\u{301}", ""),
        ("f_writ\u{e9}s", "shop.audit w"),
        ("\u{192}_writes", "shop.audit w"),
        ("f_wr\u{69}\u{307}tes", "shop.audit w"),
        ("other.f_writes", ""),
    ] {
        let expansion = catalog.routines_behind(&BTreeSet::from([table(call)]), Some(b"shop"));
        assert_eq!(shown(&expansion), expected, "{call}");
    }
}

#[test]
fn views_that_name_each_other_end() {
    let catalog =
        build(&["table s.t", "view s.a = select 1 from `s`.`b`", "view s.b = select 1 from `s`.`a`, `s`.`t`"]);
    assert_eq!(behind(&catalog, "s.a", Access::Read), "s.a s.b s.t");
    assert_eq!(behind(&catalog, "s.b", Access::Read), "s.b s.a s.t");
}

#[test]
fn everything_out_of_sight_is_unknown() {
    let mut inventory = inventory(&SHOP);
    let shop = || Sight::In(BTreeSet::from(["shop".to_owned()]));
    inventory.tables.retain(|row| row.schema == "shop");
    inventory.tables_seen = shop();
    inventory.views_seen = shop();
    inventory.triggers_seen = shop();
    inventory.routines_seen = Sight::nowhere();
    let catalog = Catalog::build(inventory);
    for (name, access, expected) in [
        ("secret", Access::Read, "secret"),
        ("v1", Access::Read, "v1 shop.secret shop.v1"),
        ("other.secret", Access::Read, "other.secret n"),
        ("secret", Access::Write, "secret"),
        ("other.*", Access::Write, "other.*"),
    ] {
        assert_eq!(behind(&catalog, name, access), expected, "{name} {access:?}");
    }
    let p = catalog.routine("shop", "p").unwrap();
    assert!(p.unknown_names, "{p:?}");
    assert!(p.tables.contains(&table("other.secret")), "it may be there: {p:?}");
    let expansion = catalog.routines_behind(&BTreeSet::from([table("loadable")]), Some(b"shop"));
    assert_eq!(shown(&expansion), "c");
    let unseen: Vec<String> = catalog.unseen().iter().map(ToString::to_string).collect();
    assert_eq!(unseen.len(), 4, "{unseen:?}");
}

#[test]
fn writes_under_unseen_triggers_call_the_unknown() {
    let mut inventory = inventory(&["table shop.t", "view shop.v = select 1 from `shop`.`t`"]);
    inventory.triggers_seen = Sight::nowhere();
    let catalog = Catalog::build(inventory);
    assert_eq!(behind(&catalog, "t", Access::Read), "t");
    assert_eq!(behind(&catalog, "t", Access::Write), "t shop.t c");
    assert_eq!(behind(&catalog, "v", Access::Write), "v shop.t shop.v c");
}

#[test]
fn usage_of_the_server_replaces_the_names_of_a_definition() {
    let mut inventory = inventory(&["table shop.secret", "table shop.o", "view shop.v = select `o`.`id` from `x` `o`"]);
    inventory.views[0].tables = vec![("shop".into(), "Secret".into())];
    inventory.views[0].usage_is_complete = true;
    assert_eq!(behind(&Catalog::build(inventory.clone()), "v", Access::Read), "v shop.secret shop.v");
    inventory.views[0].usage_is_complete = false;
    assert_eq!(behind(&Catalog::build(inventory), "v", Access::Read), "v shop.o shop.secret shop.v");
}

#[test]
fn unknown_catalogue_knows_no_name() {
    let catalog = Catalog::unknown();
    assert_eq!(behind(&catalog, "t", Access::Read), "t n");
    assert_eq!(shown(&catalog.tables_behind(&[], None, Access::Write)), "");
    assert_eq!(catalog.unseen(), [Unseen::Everything]);
    assert!(!catalog.reads_may_write() && catalog.routine("s", "p").is_none());
}

#[test]
fn objects_beyond_the_limit_are_unknown() {
    let mut inventory = inventory(&["view shop.v = select 1 from `shop`.`t1`"]);
    inventory.tables =
        (0..MOST_OBJECTS).map(|number| TableRow { schema: "shop".to_owned(), name: format!("t{number}") }).collect();
    let last = format!("t{}", MOST_OBJECTS - 1);
    let catalog = Catalog::build(inventory);
    assert_eq!(behind(&catalog, "v", Access::Read), "v shop.shop shop.t1 shop.v n");
    assert_eq!(behind(&catalog, &last, Access::Read), format!("{last} n"));
    assert!(catalog.unseen().contains(&Unseen::TooMany { limit: MOST_OBJECTS }));
}

#[test]
fn chains_longer_than_the_limit_are_unknown() {
    let view = |number: usize| format!("view s.v{number} = select 1 from `s`.`v{}`", number + 1);
    let lines: Vec<String> = (0..4200).map(view).collect();
    let catalog = build(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let tables = [table("s.v0")];
    let expansion = catalog.tables_behind(&tables, None, Access::Read);
    assert!(expansion.calls_unknown && expansion.unknown_names);
}
