use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

const MINUTE: u64 = 60_000;

fn name(n: usize) -> Name {
    Name::new(&format!("name-{n}"))
}

fn sizes<T>(clients: &Clients<T>) -> HashMap<Option<Arc<[u8]>>, usize> {
    let mut sizes = HashMap::new();
    for client in clients.list() {
        *sizes.entry(client.user).or_insert(0) += 1;
    }
    sizes
}

#[test]
fn one_entry_a_user_and_name() {
    let clients = Clients::default();
    let one = clients.entry(b"a", &name(1), 5, || 1);
    assert!(Arc::ptr_eq(&one, &clients.entry(b"a", &name(1), 7, || 2)));
    assert_eq!((*clients.entry(b"a", &name(2), 0, || 3), *clients.entry(b"b", &name(1), 0, || 4)), (3, 4));
    assert_eq!(*clients.entry(b"a", &Name::unattributed(), 0, || 5), 5);
    let mut list: Vec<(Vec<u8>, String, u64, i32)> = clients
        .list()
        .iter()
        .map(|client| {
            (client.user.as_deref().unwrap().to_vec(), client.name.to_string(), client.last_seen, *client.value)
        })
        .collect();
    list.sort();
    let expected = [("a", "name-1", 7, 1), ("a", "name-2", 0, 3), ("a", "unattributed", 0, 5), ("b", "name-1", 0, 4)]
        .map(|(user, name, seen, value)| (user.as_bytes().to_vec(), name.to_owned(), seen, value));
    assert_eq!(list, expected);
    assert_eq!(clients.counts(), Counts { remembered: 4, overflowed: 0, left: 0 });
}

#[test]
fn a_user_has_a_quarter() {
    let clients = Clients::default();
    for n in 0..10_000 {
        clients.entry(b"a", &name(n), 0, || n);
    }
    let counts = clients.counts();
    // One place is kept for `unattributed`.
    assert_eq!((counts.remembered, counts.overflowed), (2_499, 10_000 - 2_498));
    let overflow = clients.list().into_iter().find(|client| client.name == Name::overflow()).unwrap();
    assert_eq!(overflow.user.as_deref(), Some(&b"a"[..]));
    assert!(Arc::ptr_eq(&overflow.value, &clients.entry(b"a", &name(20_000), 0, || 0)));
    assert_eq!(*clients.entry(b"a", &Name::unattributed(), 0, || 42), 42);
    assert_eq!(clients.counts().remembered, 2_500);
    // The others have room, and those who were there still are.
    assert_eq!(*clients.entry(b"b", &name(1), 0, || 77), 77);
    assert_eq!(*clients.entry(b"a", &name(1), 0, || 0), 1);
}

#[test]
fn the_idle_leave_first() {
    let clients = Clients::with_room_for(40);
    for n in 0..8 {
        clients.entry(b"a", &name(n), 0, || n);
    }
    let held = clients.entry(b"a", &name(0), 0, || 0);
    clients.entry(b"a", &name(1), MINUTE - 1, || 0);
    // Nobody is idle for a minute yet.
    clients.entry(b"a", &name(100), MINUTE - 1, || 100);
    assert_eq!(clients.counts().overflowed, 1);
    for n in 101..=106 {
        clients.entry(b"a", &name(n), MINUTE, || n);
    }
    // Six were idle; the held one and the one just seen are still there, and there is no more room.
    assert_eq!(clients.counts(), Counts { remembered: 9, overflowed: 1, left: 6 });
    assert!(Arc::ptr_eq(&held, &clients.entry(b"a", &name(0), MINUTE, || 0)));
    assert_eq!(*clients.entry(b"a", &name(1), MINUTE, || 0), 1);
    clients.entry(b"a", &name(107), MINUTE, || 107);
    assert_eq!(clients.counts().overflowed, 2);
}

#[test]
fn whoever_has_most_leaves_for_a_user_with_less() {
    let left = Arc::new(Mutex::new(Vec::new()));
    let leavers = Arc::clone(&left);
    let clients = Clients::with_room_for(40).on_leave(move |client: Client<usize>| {
        leavers.lock().unwrap().push((client.user, *client.value));
    });
    let users = [b"a", b"b", b"c", b"d", b"e"];
    // All are in use: nobody is idle.
    let held: Vec<_> = (0..5 * 8).map(|n| clients.entry(users[n / 8], &name(n), n as u64, || n)).collect();
    let sizes = sizes(&clients);
    let sizes: Vec<usize> = users.iter().map(|user| sizes.get(&Some(user[..].into())).copied().unwrap_or(0)).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 39);
    assert!(sizes.iter().all(|size| (7..=8).contains(size)), "{sizes:?}");
    assert_eq!(left.lock().unwrap().len(), clients.counts().left as usize);
    assert!(left.lock().unwrap().iter().all(|(user, value)| user.as_deref() == Some(users[value / 8])));
    assert_eq!(held.len(), 40);

    // Equals do not push each other out: what has no room at all shares the last entry.
    let before = clients.counts();
    for n in 100..200 {
        clients.entry(users[n % 5], &name(n), 50, || n);
    }
    let after = clients.counts();
    assert_eq!(after.left, before.left);
    assert_eq!(after.overflowed, before.overflowed + 100);
    assert_eq!(after.remembered, 40);
}

#[test]
fn many_users_share_what_there_is() {
    let clients = Clients::with_room_for(40);
    for n in 0..100_usize {
        clients.entry(&n.to_le_bytes(), &name(n), 0, || n);
    }
    let shared = clients.list().into_iter().find(|client| client.user.is_none()).unwrap();
    assert_eq!((shared.name.as_str(), *shared.value), (Name::OVERFLOW, 39));
    assert_eq!(clients.counts(), Counts { remembered: 40, overflowed: 61, left: 0 });
}

/// Against a model that only knows what was said: bounds, and that nobody who was seen lately is forgotten for no reason.
#[test]
fn bounds_hold_whatever_happens() {
    const ROOM: usize = 60;
    for seed in 0..10 {
        let mut rng = StdRng::seed_from_u64(seed);
        let clients = Clients::with_room_for(ROOM);
        let mut held: Vec<Arc<(usize, usize)>> = Vec::new();
        let mut now = 0;
        let users = rng.random_range(1..12);
        for _ in 0..3_000 {
            now += if rng.random_ratio(1, 50) { MINUTE } else { rng.random_range(0..500) };
            let (user, n) = (rng.random_range(0..users), rng.random_range(0..40));
            let wanted = if n == 0 { Name::unattributed() } else { name(n) };
            let before = sizes(&clients);
            let size = before.get(&Some([user as u8][..].into())).copied().unwrap_or(0);
            let largest = before.values().copied().max().unwrap_or(0);
            let got = clients.entry(&[user as u8], &wanted, now, || (user, n));
            if size + 1 < largest && size + 2 < ROOM / 4 {
                assert_eq!(*got, (user, n), "seed {seed}: {size} of {largest}, and no room");
            }
            if *got == (user, n) && rng.random_ratio(1, 3) {
                held.push(got);
            }
            if held.len() > 30 || rng.random_ratio(1, 20) {
                held.clear();
            }
            let list = clients.list();
            assert!(list.len() <= ROOM && list.len() == clients.counts().remembered);
            for (user, size) in sizes(&clients) {
                assert!(user.is_none() || size <= ROOM / 4, "seed {seed}: {user:?} has {size}");
            }
            let mut names: Vec<_> = list.iter().map(|client| (client.user.clone(), client.name.to_string())).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), list.len());
            // With few users nobody has to leave who is held.
            if users <= 4 {
                for one in &held {
                    assert!(list.iter().any(|client| Arc::ptr_eq(&client.value, one)), "seed {seed}");
                }
            }
        }
        assert!(users < 3 || clients.counts().left > 0);
    }
}

#[test]
fn threads_share_it() {
    let clients = Clients::with_room_for(400);
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let clients = &clients;
            scope.spawn(move || {
                for n in 0..2_000 {
                    let (user, n) = ([thread % 2], n % 150);
                    let got = clients.entry(&user, &name(n), n as u64, || n);
                    let again = clients.entry(&user, &name(n), n as u64, || n);
                    assert!(Arc::ptr_eq(&got, &again), "who is held stays");
                }
            });
        }
    });
    assert!(sizes(&clients).values().all(|size| *size <= 100));
    assert_eq!(clients.counts().left, 0);
}
