// node mysql2. Without TLS it asks the server for its RSA key by itself on a cold caching_sha2_password cache.
'use strict';
const stream = require('stream');
const assert = require('assert').strict;
const crypto = require('crypto');
const mysql = require('mysql2');

const env = process.env, T = env.TG_TABLE, TLS = env.TG_TLS === 'on';
const TEXT = 'naïve 日本 🐬';
class Skip extends Error {}

const options = {
  ...(env.TG_SOCKET ? { socketPath: env.TG_SOCKET } : { host: env.TG_HOST, port: +env.TG_PORT }),
  user: env.TG_USER, password: env.TG_PASSWORD, database: env.TG_DATABASE, charset: 'utf8mb4', multipleStatements: true,
  supportBigNumbers: true, bigNumberStrings: false, dateStrings: true, flags: ['+LOCAL_FILES'], connectAttributes: { program_name: 'tollgate-node' },
  ...(TLS ? { ssl: { rejectUnauthorized: false } } : {}),
};
function connect(other = {}) {
  return new Promise((resolve, reject) => {
    const conn = mysql.createConnection({ ...options, ...other });
    conn.once('connect', () => { conn.on('error', () => {}); resolve(conn); });
    conn.once('error', reject);
  });
}
let conn;
const call = (object, method, ...args) => new Promise((resolve, reject) => object[method](...args, (error, result) => error ? reject(error) : resolve(result)));
// Rows as arrays; an OK as its header.
const run = (sql, values, on = conn) => call(on, 'query', { sql, values, rowsAsArray: true });
const execute = (sql, values) => call(conn, 'execute', { sql, values, rowsAsArray: true });
const same = (got, expected) => assert.deepEqual(JSON.parse(JSON.stringify(got)), JSON.parse(JSON.stringify(expected)));
const fails = async (promise, code, state) => {
  const error = await promise.then(() => null, (error) => error);
  assert(error, `no error, expected ${code}`);
  same([error.errno, error.sqlState], [code, state]);
};
const shape = (results) => results.map((result) => Array.isArray(result) ? result : 'ok');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const steps = {
  async connect() {
    conn = await connect();
    same(Boolean(conn.stream.encrypted), TLS);
    for (const sql of [`DROP TABLE IF EXISTS ${T}_a, ${T}_p, ${T}_d`, `DROP PROCEDURE IF EXISTS ${T}_two`,
      `CREATE TABLE ${T}_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4`,
      `CREATE TABLE ${T}_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4`,
      `CREATE TABLE ${T}_d (d INT)`, `INSERT INTO ${T}_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)`,
      `CREATE PROCEDURE ${T}_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END`]) await run(sql);
  },
  async ping() { for (let i = 0; i < 3; i++) await call(conn, 'ping'); },
  async text() {
    same(await run(`SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '${TEXT}',
      NULL, '', HEX(X'00FF27225C0A'), DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'`),
    [[42, '-9223372036854775808', '18446744073709551615', 1.5, '12345678901234.567890', TEXT, null, '', '00FF27225C0A', '2026-11-16', '2026-11-16 12:34:56.789012']]);
    assert((await run("SELECT X'00FF27225C0A'"))[0][0].equals(Buffer.from([0, 255, 39, 34, 92, 10])));
    same(await run('SELECT 1 FROM dual WHERE 1 = 0'), []);
    const ok = await run(`INSERT INTO ${T}_a (v) VALUES ('one'), (?)`, [TEXT]);
    same([ok.affectedRows, ok.insertId], [2, 1]);
    same(await run(`SELECT * FROM ${T}_a ORDER BY id`), [[1, 'one'], [2, TEXT]]);
  },
  async prepared() {
    const insert = await call(conn, 'prepare', `INSERT INTO ${T}_p VALUES (?, ?, ?, ?, ?, ?, ?)`);
    const row = (i) => [i, -i * 2 ** 40, i / 8, `${TEXT} ${i}`, i % 3 ? null : i, Buffer.from([i % 256, 0, 255]), '2026-11-16 01:02:03.456789'];
    for (let i = 0; i < 300; i++) same((await call(insert, 'execute', row(i))).affectedRows, 1);
    await call(insert, 'execute', [300, '77', true, 12, '5', 'text', new Date(2026, 10, 16, 1, 2, 3, 456)]); // the same statement with other types
    insert.close();
    const select = `SELECT * FROM ${T}_p WHERE id >= ? ORDER BY id`; // prepared once, kept by the driver
    for (const low of [0, 100, 300, 1000]) {
      const rows = await execute(select, [low]);
      const expected = Array.from({ length: Math.max(0, 300 - low) }, (_, i) => row(i + low));
      if (low <= 300) expected.push([300, 77, 1, '12', 5, Buffer.from('text'), '2026-11-16 01:02:03.456000']);
      same(rows, expected);
    }
    conn.unprepare(select);
    same(await execute('SELECT CONCAT(?, 1)', [41]), [['411']]);
  },
  async cursor() { throw new Skip('the driver has no server-side cursor; many_rows streams'); },
  async long_data() { throw new Skip('the driver does not send long data'); },
  async transaction() {
    await run('SET autocommit = 0');
    await run(`INSERT INTO ${T}_a (v) VALUES ('tx-1')`);
    await call(conn, 'rollback');
    await run(`INSERT INTO ${T}_a (v) VALUES ('tx-2')`);
    await call(conn, 'commit');
    await run('SET autocommit = 1');
    await call(conn, 'beginTransaction');
    await run(`INSERT INTO ${T}_a (v) VALUES ('tx-3')`);
    await call(conn, 'rollback');
    same(await run(`SELECT v FROM ${T}_a WHERE v LIKE 'tx-_'`), [['tx-2']]);
  },
  async multi_result() {
    const two = [[[7, 'first']], [[8, 'second'], [9, 'third']]];
    same(shape(await run(`CALL ${T}_two(7)`)), [...two, 'ok']);
    same(shape(await run(`SELECT 1; CALL ${T}_two(7); DO 1; SELECT 'x', NULL`)), [[[1]], ...two, 'ok', 'ok', [['x', null]]]);
    same(shape(await execute(`CALL ${T}_two(?)`, [7])), [...two, 'ok']);
  },
  async large_row() { // every eight bytes differ, so that a lost, doubled or moved piece shows
    const value = Buffer.allocUnsafe(Number(process.env.TG_LARGE_BYTES));
    for (let i = 0; i < value.length / 8; i++) value.latin1Write((0x100000000 + i).toString(16).slice(1), 8 * i);
    const hash = crypto.createHash('sha256').update(value).digest('hex');
    await call(conn, 'execute', `INSERT INTO ${T}_p (id, bin) VALUES (?, ?)`, [1000000, value]);
    await run(`INSERT INTO ${T}_p (id, bin) VALUES (?, ?)`, [1000001, value.latin1Slice()]);
    for (const id of [1000000, 1000001]) {
      same(await run(`SELECT LENGTH(bin), SHA2(bin, 256) FROM ${T}_p WHERE id = ${id}`), [[value.length, hash]]);
      const rows = id % 2 ? await execute(`SELECT bin, 'after' FROM ${T}_p WHERE id = ?`, [id])
        : await run(`SELECT bin, 'after' FROM ${T}_p WHERE id = ${id}`);
      assert(rows.length === 1 && rows[0][0].equals(value) && rows[0][1] === 'after');
    }
    await run(`DELETE FROM ${T}_p WHERE id >= 1000000`);
  },
  async many_rows() {
    let count = 0;
    const rows = conn.query({ sql: `SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM
      ${T}_d a, ${T}_d b, ${T}_d c, ${T}_d e, ${T}_d f) x ORDER BY n`, rowsAsArray: true }).stream();
    for await (const [n, s] of rows) { assert(n === count && s === `row-${count}`, `row ${count} is ${n}, ${s}`); count++; }
    same(count, 100000);
  },
  async error() {
    for (let i = 0; i < 2; i++) {
      await fails(run('SELECT 1 FROM'), 1064, '42000');
      await fails(run(`INSERT INTO ${T}_a (v) VALUES ('one')`), 1062, '23000');
      await fails(run(`SELECT * FROM ${T}_none`), 1146, '42S02');
      await fails(call(conn, 'prepare', 'SELECT ? FROM'), 1064, '42000');
      same(await run('SELECT 5'), [[5]]);
    }
  },
  async change_user() {
    await run('SET @kept = 1');
    await call(conn, 'changeUser', { user: env.TG_USER, password: env.TG_PASSWORD, database: env.TG_DATABASE });
    same(await run('SELECT @kept, DATABASE()'), [[null, env.TG_DATABASE]]);
  },
  async reset_connection() {
    if (!conn.reset) throw new Skip('this version of the driver has no reset');
    await run('SET @kept = 1');
    await call(conn, 'reset');
    same(await run('SELECT @kept'), [[null]]);
    await run('SET NAMES utf8mb4');
  },
  async local_infile() {
    if ((await run('SELECT @@GLOBAL.local_infile'))[0][0] !== 1) throw new Skip('the server has local_infile off');
    const lines = Array.from({ length: 5000 }, (_, i) => `${2000000 + i}\t${i}\t${TEXT} ${i}\n`);
    const ok = await call(conn, 'query', { sql: `LOAD DATA LOCAL INFILE 'lines' INTO TABLE ${T}_p CHARACTER SET utf8mb4 (id, b, s)`,
      infileStreamFactory: () => stream.Readable.from(lines.map((line) => Buffer.from(line))) });
    same(ok.affectedRows, 5000);
    same(await run(`SELECT COUNT(*), SUM(b), SUM(s = CONCAT('${TEXT} ', b)) FROM ${T}_p WHERE id >= 2000000`), [[5000, '12497500', '5000']]);
  },
  async warnings() {
    await run("SELECT CAST('12abc' AS SIGNED), 1/0");
    same((await run('SHOW WARNINGS')).map((row) => row[1]), [1292, 1365]);
    same((await run(`INSERT IGNORE INTO ${T}_a (v) VALUES ('one')`)).warningStatus, 1);
  },
  async pipelining() { throw new Skip('the driver queues commands and sends each after the reply to the last'); },
  async cancel() {
    const second = await connect();
    const id = (await run('SELECT CONNECTION_ID()'))[0][0];
    const asleep = (id) => `SELECT COUNT(*) FROM ${env.TG_PROCESSLIST} WHERE id = ${id} AND state = 'User sleep'`;
    for (const victim of [conn.threadId, id]) {
      const begun = Date.now();
      // MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error.
      const slept = run('SELECT SLEEP(30)').then((rows) => same(rows, [[1]]), (error) => same(error.errno, 1317));
      while ((await run(asleep(id), [], second))[0][0] === 0) await sleep(20);
      await run(`KILL QUERY ${victim}`, [], second);
      await slept;
      assert(Date.now() - begun < 20000, `KILL QUERY ${victim} did not end the statement`);
      same(await run('SELECT 5'), [[5]]);
    }
    // Its own means: drop the socket. The server's thread ends by a KILL of the id that it gave, as a pool would do.
    const third = await connect(), third_id = (await run('SELECT CONNECTION_ID()', [], third))[0][0];
    third.query('SELECT SLEEP(30)', () => {});
    while ((await run(asleep(third_id), [], second))[0][0] === 0) await sleep(20);
    third.destroy();
    await run(`KILL ${third_id}`, [], second).catch((error) => same(error.errno, 1094)); // 1094: gone already
    second.end();
  },
  async wrong_password() { await fails(connect({ password: 'wrong' }), 1045, '28000'); },
  async unknown_database() { await fails(connect({ database: `${T}_none` }), 1049, '42000'); },
  async attributes() {
    if (!+(await run('SELECT @@performance_schema'))[0][0]) throw new Skip('the server has performance_schema off');
    const fresh = await connect(); // its COM_CHANGE_USER carries no attributes, so the first connection has none any more
    same(await run(`SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()
      AND attr_name IN ('program_name', '_client_name') ORDER BY attr_name`, [], fresh), [['_client_name', 'Node-MySQL-2'], ['program_name', 'tollgate-node']]);
    fresh.end();
  },
  async quit() {
    await run(`DROP TABLE ${T}_a, ${T}_p, ${T}_d; DROP PROCEDURE ${T}_two`);
    const id = (await run('SELECT CONNECTION_ID()'))[0][0];
    await call(conn, 'end');
    const second = await connect();
    let alive = 1;
    for (let i = 0; i < 250 && alive; i++) {
      alive = (await run(`SELECT COUNT(*) FROM ${env.TG_PROCESSLIST} WHERE id = ${id}`, [], second))[0][0];
      await sleep(20);
    }
    same(alive, 0);
    await call(second, 'end');
  },
};

(async () => {
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step();
      console.log(`ok ${name}`);
    } catch (error) {
      if (error instanceof Skip) { console.log(`skip ${name}: ${error.message}`); continue; }
      console.log(`FAIL ${name}: ${error.stack}`.slice(0, 2000));
      process.exit(1);
    }
  }
  console.log('done');
})();
