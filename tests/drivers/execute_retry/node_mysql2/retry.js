// As ../retry.c: with TG_EXPECT_REFUSAL=1 the first EXECUTE of the connection fails with 1226 HY000; the same statement then works.
'use strict';
const assert = require('assert').strict;
const mysql = require('mysql2/promise');
const env = process.env, refusal = env.TG_EXPECT_REFUSAL === '1', table = `${env.TG_TABLE}_plain`;

(async () => {
  const conn = await mysql.createConnection({
    ...(env.TG_SOCKET ? { socketPath: env.TG_SOCKET } : { host: env.TG_HOST, port: +env.TG_PORT }),
    user: env.TG_USER, password: env.TG_PASSWORD, database: env.TG_DATABASE, ...(env.TG_TLS === 'on' ? { ssl: { rejectUnauthorized: false } } : {}),
  });
  await conn.query(`DROP TABLE IF EXISTS ${table}`);
  await conn.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, s TEXT, bin LONGBLOB)`);
  const statement = await conn.prepare(`INSERT INTO ${table} VALUES (?, ?, ?)`);
  const first = [1, 'text', Buffer.from('abcdefgh')];
  if (refusal) {
    const error = await statement.execute(first).then(() => assert.fail('the first execution was not refused'), (error) => error);
    assert.deepEqual([error.errno, error.sqlState], [1226, 'HY000']);
    if (env.TG_WAIT) { console.log('refused plain'); require('fs').readSync(0, Buffer.alloc(1)); }
  }
  for (const values of [first, [2, 'text', first[2]], [3, null, first[2]]]) assert.equal((await statement.execute(values))[0].affectedRows, 1);
  await statement.close();
  const [rows] = await conn.query({ sql: `SELECT id, s, bin FROM ${table} ORDER BY id`, rowsAsArray: true });
  assert.deepEqual(rows, [[1, 'text', first[2]], [2, 'text', first[2]], [3, null, first[2]]]);
  await conn.query(`DROP TABLE ${table}`);
  await conn.end();
  console.log('ok plain\nskip long_data: the driver does not send long data\ndone');
})().catch((error) => { console.log(`FAIL plain: ${error.message}`); process.exit(1); });
