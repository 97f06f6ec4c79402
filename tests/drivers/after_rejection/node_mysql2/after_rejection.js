// mysql2's pool: it drops a connection on fatal errors only.
'use strict';
const assert = require('assert').strict;
const mysql = require('mysql2/promise');
const env = process.env, insert = `INSERT INTO ${env.TG_TABLE} (batch) VALUES (?)`;

(async () => {
  const pool = mysql.createPool({
    host: env.TG_HOST, port: +env.TG_PORT, user: env.TG_USER, password: env.TG_PASSWORD, database: env.TG_DATABASE, connectionLimit: 1,
  });
  const id = async () => (await pool.query('SELECT CONNECTION_ID() AS id'))[0][0].id;
  const refused = async (promise) => {
    const error = await promise.then(() => assert.fail('it was not refused'), (error) => error);
    assert.deepEqual([error.errno, error.sqlState], [1226, 'HY000']);
    assert.match(error.message, /\[tollgate\] rule=no-writes reason=ratio client=/);
  };
  const first = await id();
  await refused(pool.query(insert, [1]));
  assert.equal(await id(), first);
  console.log('ok text');
  await refused(pool.execute(insert, [1]));
  assert.equal(await id(), first);
  console.log('ok prepared');
  const connection = await pool.getConnection();
  await connection.beginTransaction();
  await connection.query(`SELECT COUNT(*) FROM ${env.TG_TABLE}`);
  await refused(connection.query(insert, [1]));
  await connection.rollback();
  connection.release();
  console.log('ok transaction');
  assert.equal(await id(), first);
  console.log('ok same_connection');
  await pool.end();
  console.log('done');
})().catch((error) => { console.log(`FAIL: ${error.stack}`); process.exit(1); });
