<?php
// PHP's PDO over mysqlnd, with emulation off, so that parameters are bound by the server.
// Without TLS mysqlnd asks the server for its RSA key by itself on a cold caching_sha2_password cache.
ini_set('memory_limit', '512M');
define('T', getenv('TG_TABLE'));
define('PROCESSES', getenv('TG_PROCESSLIST'));
define('TLS', getenv('TG_TLS') === 'on');
const TEXT = 'naïve 日本 🐬';
class Skip extends Exception {}

function connect(?string $password = null, ?string $database = null): PDO {
    $socket = getenv('TG_SOCKET');
    $where = $socket ? "unix_socket=$socket" : 'host=' . getenv('TG_HOST') . ';port=' . getenv('TG_PORT');
    return new PDO("mysql:$where;charset=utf8mb4;dbname=" . ($database ?? getenv('TG_DATABASE')), getenv('TG_USER'), $password ?? getenv('TG_PASSWORD'),
        [PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM,
            PDO::MYSQL_ATTR_LOCAL_INFILE => true] + (TLS ? [PDO::MYSQL_ATTR_SSL_CA => '', PDO::MYSQL_ATTR_SSL_CIPHER => 'DEFAULT', PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false] : []));
}
function same($got, $expected): void {
    if ($got !== $expected) throw new Exception('got ' . substr(var_export($got, true), 0, 400) . ', expected ' . substr(var_export($expected, true), 0, 400));
}
function run(string $sql, ?PDO $on = null) { // rows, or the number of affected rows
    $result = ($on ?? $GLOBALS['c'])->query(str_replace('@_', T . '_', $sql));
    return $result->columnCount() ? $result->fetchAll() : $result->rowCount();
}
function prepare(string $sql): PDOStatement { return $GLOBALS['c']->prepare(str_replace('@_', T . '_', $sql)); }
function fails(callable $call, int $code, string $state): void {
    try { $call(); } catch (PDOException $e) { same([$e->errorInfo[1], $e->errorInfo[0]], [$code, $state]); return; }
    throw new Exception("no error, expected $code");
}
function all_results(string $sql): array {
    $result = $GLOBALS['c']->query(str_replace('@_', T . '_', $sql));
    $all = [];
    do { $all[] = ($result->columnCount() ? $result->fetchAll() : []) ?: 'ok'; // a prepared CALL's status keeps the columns of the last result
         } while ($result->nextRowset());
    return $all;
}
function row(int $i): array { return [$i, -$i * 2 ** 40, $i / 8, TEXT . " $i", $i % 3 ? null : $i, chr($i % 256) . "\0\xff", '2026-11-16 01:02:03.456789']; }
function kill_when_asleep($id, $victim): void {
    $second = connect();
    while (run("SELECT COUNT(*) FROM " . PROCESSES . " WHERE id = $id AND state = 'User sleep'", $second) === [[0]]) usleep(20000);
    run("KILL QUERY $victim", $second);
}
if (($argv[1] ?? '') === 'kill') { kill_when_asleep($argv[2], $argv[3]); exit(0); } // this program as the second connection of the cancel step

$steps = [
    'connect' => function () {
        global $c;
        $c = connect();
        run('DROP TABLE IF EXISTS @_a, @_p, @_d');
        run('DROP PROCEDURE IF EXISTS @_two');
        run('CREATE TABLE @_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4');
        run('CREATE TABLE @_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4');
        run('CREATE TABLE @_d (d INT)');
        run('INSERT INTO @_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)');
        run("CREATE PROCEDURE @_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END");
    },
    'ping' => function () { for ($i = 0; $i < 3; $i++) same(run('SELECT 1'), [[1]]); same(str_contains($GLOBALS['c']->getAttribute(PDO::ATTR_SERVER_INFO), 'Uptime'), true); },
    'text' => function () {
        global $c;
        $sql = "SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '" . TEXT . "', NULL, '',
            X'00FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'";
        same(run($sql), [[42, PHP_INT_MIN, '18446744073709551615', 1.5, '12345678901234.567890', TEXT, null, '', "\0\xff'\"\\\n", '2026-11-16', '2026-11-16 12:34:56.789012']]);
        $c->setAttribute(PDO::ATTR_EMULATE_PREPARES, true); // the text protocol
        same(run($sql), [[42, PHP_INT_MIN, '18446744073709551615', 1.5, '12345678901234.567890', TEXT, null, '', "\0\xff'\"\\\n", '2026-11-16', '2026-11-16 12:34:56.789012']]);
        same(run('SELECT 1 FROM dual WHERE 1 = 0'), []);
        same($c->exec('INSERT INTO ' . T . "_a (v) VALUES ('one'), ('" . TEXT . "')"), 2);
        same($c->lastInsertId(), '1');
        same(run('SELECT * FROM @_a ORDER BY id'), [[1, 'one'], [2, TEXT]]);
        $c->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    },
    'prepared' => function () {
        $insert = prepare('INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)');
        for ($i = 0; $i < 300; $i++) {
            foreach (row($i) as $n => $v) $insert->bindValue($n + 1, $v, is_int($v) ? PDO::PARAM_INT : ($v === null ? PDO::PARAM_NULL : PDO::PARAM_STR));
            $insert->execute();
            same($insert->rowCount(), 1);
        }
        $insert->execute(['300', '77', '1', 12, '5', 'text', '2026-11-16 01:02:03.456789']); // the same statement with other types
        $insert = null;
        $select = prepare('SELECT * FROM @_p WHERE id >= ? ORDER BY id');
        foreach ([0, 100, 300, 1000] as $low) {
            $select->execute([$low]);
            $expected = array_map('row', $low < 300 ? range($low, 299) : []);
            if ($low <= 300) $expected[] = [300, 77, 1.0, '12', 5, 'text', '2026-11-16 01:02:03.456789'];
            foreach ($expected as &$r) $r[2] = (float) $r[2];
            same($select->fetchAll(), $expected);
        }
    },
    'cursor' => fn () => throw new Skip('PDO has no server-side cursor for MySQL; many_rows streams'),
    'long_data' => fn () => throw new Skip('PDO reads a PARAM_LOB stream into an ordinary parameter'),
    'transaction' => function () {
        global $c;
        $c->setAttribute(PDO::ATTR_AUTOCOMMIT, 0);
        run("INSERT INTO @_a (v) VALUES ('tx-1')");
        $c->exec('ROLLBACK');
        run("INSERT INTO @_a (v) VALUES ('tx-2')");
        $c->exec('COMMIT');
        $c->setAttribute(PDO::ATTR_AUTOCOMMIT, 1);
        $c->beginTransaction();
        run("INSERT INTO @_a (v) VALUES ('tx-3')");
        same($c->inTransaction(), true);
        $c->rollBack();
        same($c->inTransaction(), false);
        same(run("SELECT v FROM @_a WHERE v LIKE 'tx-_'"), [['tx-2']]);
    },
    'multi_result' => function () {
        global $c;
        $two = [[[7, 'first']], [[8, 'second'], [9, 'third']]];
        same(all_results('CALL @_two(7)'), [...$two, 'ok']);
        $c->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
        same(all_results("SELECT 1; CALL @_two(7); DO 1; SELECT 'x', NULL"), [[[1]], ...$two, 'ok', 'ok', [['x', null]]]);
        $c->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    },
    'large_row' => function () { // every eight bytes differ, so that a lost, doubled or moved piece shows
        global $c;
        $value = '';
        for ($i = 0; $i < getenv('TG_LARGE_BYTES') / 8; $i++) $value .= sprintf('%08x', $i);
        foreach ([false, true] as $text) {
            $c->setAttribute(PDO::ATTR_EMULATE_PREPARES, $text);
            prepare('REPLACE INTO @_p (id, bin) VALUES (?, ?)')->execute([1000000, $value]);
            same(run('SELECT LENGTH(bin), SHA2(bin, 256) FROM @_p WHERE id = 1000000'), [[strlen($value), hash('sha256', $value)]]);
            same(run("SELECT bin, 'after' FROM @_p WHERE id = 1000000") === [[$value, 'after']], true);
        }
        $c->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
        run('DELETE FROM @_p WHERE id >= 1000000');
    },
    'many_rows' => function () {
        global $c;
        $c->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        $rows = prepare("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM @_d a, @_d b, @_d c, @_d e, @_d f) x ORDER BY n");
        $rows->execute();
        for ($i = 0; $row = $rows->fetch(); $i++) if ([(int) $row[0], $row[1]] !== [$i, "row-$i"]) throw new Exception("row $i is " . implode(',', $row));
        same($i, 100000);
        $rows = null;
        $c->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, true);
    },
    'error' => function () {
        global $c;
        for ($i = 0; $i < 2; $i++) {
            fails(fn () => run('SELECT 1 FROM'), 1064, '42000');
            fails(fn () => run("INSERT INTO @_a (v) VALUES ('one')"), 1062, '23000');
            fails(fn () => run('SELECT * FROM @_none'), 1146, '42S02');
            fails(fn () => $c->prepare('SELECT ? FROM'), 1064, '42000');
            same(run('SELECT 5'), [[5]]);
        }
    },
    'change_user' => fn () => throw new Skip('PDO has no change_user'),
    'reset_connection' => fn () => throw new Skip('PDO has no reset_connection'),
    'local_infile' => function () {
        if (run('SELECT @@GLOBAL.local_infile') !== [[1]]) throw new Skip('the server has local_infile off');
        $name = tempnam(sys_get_temp_dir(), 'tollgate');
        file_put_contents($name, implode('', array_map(fn ($i) => (2000000 + $i) . "\t$i\t" . TEXT . " $i\n", range(0, 4999))));
        same($GLOBALS['c']->exec("LOAD DATA LOCAL INFILE '$name' INTO TABLE " . T . '_p CHARACTER SET utf8mb4 (id, b, s)'), 5000);
        unlink($name);
        same(run("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('" . TEXT . " ', b)) FROM @_p WHERE id >= 2000000"), [[5000, '12497500', '5000']]);
    },
    'warnings' => function () {
        $GLOBALS['c']->setAttribute(PDO::ATTR_EMULATE_PREPARES, true); // preparing SHOW WARNINGS would clear them
        run("SELECT CAST('12abc' AS SIGNED), 1/0");
        same(array_column(run('SHOW WARNINGS'), 1), [1292, 1365]);
        $GLOBALS['c']->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    },
    'pipelining' => fn () => throw new Skip('the driver waits for each reply'),
    'cancel' => function () {
        $id = run('SELECT CONNECTION_ID()')[0][0];
        $begun = microtime(true);
        $second = proc_open([PHP_BINARY, __FILE__, 'kill', $id, $id], [], $pipes); // PDO does not tell the id that it was given
        // MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error.
        try { same(run('SELECT SLEEP(30)'), [[1]]); } catch (PDOException $e) { same($e->errorInfo[1], 1317); }
        same(proc_close($second), 0);
        if (microtime(true) - $begun > 20) throw new Exception('KILL QUERY did not end the statement');
        same(run('SELECT 5'), [[5]]);
    },
    'wrong_password' => fn () => fails(fn () => connect('wrong'), 1045, 'HY000'),
    'unknown_database' => fn () => fails(fn () => connect(null, T . '_none'), 1049, 'HY000'),
    'attributes' => function () {
        if (run('SELECT @@performance_schema') !== [[1]]) throw new Skip('the server has performance_schema off');
        same(run("SELECT attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() AND attr_name = '_client_name'"), [['mysqlnd']]);
    },
    'quit' => function () {
        global $c;
        run('DROP TABLE @_a, @_p, @_d');
        run('DROP PROCEDURE @_two');
        $id = run('SELECT CONNECTION_ID()')[0][0];
        $c = null;
        $c = connect();
        for ($i = 0; $i < 250 && ($alive = run("SELECT COUNT(*) FROM " . PROCESSES . " WHERE id = $id")) !== [[0]]; $i++) usleep(20000);
        same($alive, [[0]]);
    },
];
foreach ($steps as $name => $step) {
    try { $step(); echo "ok $name\n"; }
    catch (Skip $e) { echo "skip $name: {$e->getMessage()}\n"; }
    catch (Throwable $e) { echo "FAIL $name: line {$e->getLine()}: {$e->getMessage()}\n"; exit(1); }
}
echo "done\n";
