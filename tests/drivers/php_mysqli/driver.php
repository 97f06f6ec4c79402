<?php
// PHP's mysqli over mysqlnd. Without TLS mysqlnd asks the server for its RSA key by itself on a cold caching_sha2_password cache.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
ini_set('memory_limit', '512M');
define('T', getenv('TG_TABLE'));
define('PROCESSES', getenv('TG_PROCESSLIST'));
define('TLS', getenv('TG_TLS') === 'on');
const TEXT = 'naïve 日本 🐬';
class Skip extends Exception {}

function connect(?string $password = null, ?string $database = null): mysqli {
    $c = mysqli_init();
    $c->options(MYSQLI_OPT_LOCAL_INFILE, true);
    $c->options(MYSQLI_SET_CHARSET_NAME, 'utf8mb4');
    $socket = getenv('TG_SOCKET');
    $c->real_connect($socket ? 'localhost' : getenv('TG_HOST'), getenv('TG_USER'), $password ?? getenv('TG_PASSWORD'), $database ?? getenv('TG_DATABASE'),
        (int) getenv('TG_PORT'), $socket ?: null, TLS ? MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT : 0);
    return $c;
}
function same($got, $expected): void {
    if ($got !== $expected) throw new Exception('got ' . substr(var_export($got, true), 0, 400) . ', expected ' . substr(var_export($expected, true), 0, 400));
}
function run(string $sql, ?mysqli $on = null) { // rows, or 'ok'
    $result = ($on ?? $GLOBALS['c'])->query(str_replace('@_', T . '_', $sql));
    return $result === true ? 'ok' : $result->fetch_all();
}
function fails(callable $call, int $code, string $state): void {
    try { $call(); } catch (mysqli_sql_exception $e) { same([$e->getCode(), $e->getSqlState()], [$code, $state]); return; }
    throw new Exception("no error, expected $code");
}
function all_results(string $sql): array {
    global $c;
    $c->multi_query(str_replace('@_', T . '_', $sql));
    $all = [];
    do { $result = $c->store_result(); $all[] = $result ? $result->fetch_all() : 'ok'; } while ($c->more_results() && $c->next_result());
    return $all;
}
function row(int $i): array { return [$i, -$i * 2 ** 40, $i / 8, TEXT . " $i", $i % 3 ? null : $i, chr($i % 256) . "\0\xff", '2026-11-16 01:02:03.456789']; }

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
    'ping' => function () { global $c; for ($i = 0; $i < 3; $i++) same(run('SELECT 1'), [['1']]); same(str_contains($c->stat(), 'Uptime'), true); },
    'text' => function () {
        global $c;
        same(run("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '" . TEXT . "', NULL, '',
            X'00FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'"),
            [['42', '-9223372036854775808', '18446744073709551615', '1.5', '12345678901234.567890', TEXT, null, '', "\0\xff'\"\\\n", '2026-11-16', '2026-11-16 12:34:56.789012']]);
        same(run('SELECT 1 FROM dual WHERE 1 = 0'), []);
        same(run("INSERT INTO @_a (v) VALUES ('one'), ('" . TEXT . "')"), 'ok');
        same([$c->affected_rows, $c->insert_id], [2, 1]);
        same(run('SELECT * FROM @_a ORDER BY id'), [['1', 'one'], ['2', TEXT]]);
    },
    'prepared' => function () {
        global $c;
        $insert = $c->prepare('INSERT INTO ' . T . '_p VALUES (?, ?, ?, ?, ?, ?, ?)');
        $v = row(0);
        $insert->bind_param('iidsiss', ...$v);
        for ($i = 0; $i < 300; $i++) {
            foreach (row($i) as $n => $value) $v[$n] = $value;
            $insert->execute();
            same($insert->affected_rows, 1);
        }
        $w = [300, '77', '1', 12, '5', 'text', '2026-11-16 01:02:03.456789'];
        $insert->bind_param('sssisss', ...$w); // the same statement with other types
        $insert->execute();
        $insert->close();
        $select = $c->prepare('SELECT * FROM ' . T . '_p WHERE id >= ? ORDER BY id');
        foreach ([0, 100, 300, 1000] as $low) {
            $select->execute([$low]);
            $expected = array_map('row', $low < 300 ? range($low, 299) : []);
            if ($low <= 300) $expected[] = [300, 77, 1.0, '12', 5, 'text', '2026-11-16 01:02:03.456789'];
            $got = $select->get_result()->fetch_all();
            foreach ($expected as &$r) $r[2] = (float) $r[2];
            same($got, $expected);
        }
        $select->close();
    },
    'cursor' => function () {
        global $c;
        $select = $c->prepare('SELECT id, s FROM ' . T . '_p WHERE id < 300 ORDER BY id');
        $select->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        foreach ([300, 20] as $stop) { // to the end, and left in the middle
            $select->execute();
            $select->bind_result($id, $s);
            for ($i = 0; $i < $stop && $select->fetch(); $i++) same([$id, $s], [$i, TEXT . " $i"]);
            same($i, $stop);
            $select->reset();
        }
        $select->close();
        same(run('SELECT 5'), [['5']]);
    },
    'long_data' => function () {
        global $c;
        $insert = $c->prepare('INSERT INTO ' . T . "_p (id, s, bin, n) VALUES (?, 'before', ?, ?)");
        $null = null; $id = 5000; $n = 9;
        $insert->bind_param('ibi', $id, $null, $n);
        $piece = implode('', array_map('chr', range(0, 255)));
        for (; $id < 5003; $id++) {
            for ($i = 0; $i < 400; $i++) $insert->send_long_data(1, $piece);
            $insert->execute();
        }
        $insert->close();
        same(run('SELECT COUNT(*), SUM(n), COUNT(DISTINCT bin) FROM @_p WHERE id BETWEEN 5000 AND 5002'), [['3', '27', '1']]);
        same(run('SELECT bin FROM @_p WHERE id = 5002')[0][0] === str_repeat($piece, 400), true);
    },
    'transaction' => function () {
        global $c;
        $c->autocommit(false);
        run("INSERT INTO @_a (v) VALUES ('tx-1')");
        $c->rollback();
        run("INSERT INTO @_a (v) VALUES ('tx-2')");
        $c->commit();
        $c->autocommit(true);
        $c->begin_transaction();
        run("INSERT INTO @_a (v) VALUES ('tx-3')");
        $c->rollback();
        same(run("SELECT v FROM @_a WHERE v LIKE 'tx-_'"), [['tx-2']]);
    },
    'multi_result' => function () {
        $two = [[['7', 'first']], [['8', 'second'], ['9', 'third']]];
        same(all_results('CALL @_two(7)'), [...$two, 'ok']);
        same(all_results("SELECT 1; CALL @_two(7); DO 1; SELECT 'x', NULL"), [[['1']], ...$two, 'ok', 'ok', [['x', null]]]);
        fails(fn () => run('SELECT 1; SELECT 2'), 1064, '42000'); // multi_query turns them on and off by COM_SET_OPTION
    },
    'large_row' => function () { // every eight bytes differ, so that a lost, doubled or moved piece shows
        global $c;
        $value = '';
        for ($i = 0; $i < getenv('TG_LARGE_BYTES') / 8; $i++) $value .= sprintf('%08x', $i);
        $insert = $c->prepare('INSERT INTO ' . T . '_p (id, bin) VALUES (?, ?)');
        $insert->execute([1000000, $value]);
        $insert->close();
        run("INSERT INTO @_p (id, bin) VALUES (1000001, '$value')");
        foreach ([1000000, 1000001] as $id) {
            same(run("SELECT LENGTH(bin), SHA2(bin, 256) FROM @_p WHERE id = $id"), [[(string) strlen($value), hash('sha256', $value)]]);
            $select = $c->prepare("SELECT bin, 'after' FROM " . T . "_p WHERE id = ?");
            $select->execute([$id]);
            same($select->get_result()->fetch_all() === [[$value, 'after']], true);
            $select->close();
            same(run("SELECT bin, 'after' FROM @_p WHERE id = $id") === [[$value, 'after']], true);
        }
        run('DELETE FROM @_p WHERE id >= 1000000');
    },
    'many_rows' => function () {
        global $c;
        $d = T . '_d';
        $rows = $c->query("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM $d a, $d b, $d c, $d e, $d f) x ORDER BY n", MYSQLI_USE_RESULT);
        for ($i = 0; $row = $rows->fetch_row(); $i++) if ($row !== ["$i", "row-$i"]) throw new Exception("row $i is " . implode(',', $row));
        same($i, 100000);
        $rows->free();
    },
    'error' => function () {
        global $c;
        for ($i = 0; $i < 2; $i++) {
            fails(fn () => run('SELECT 1 FROM'), 1064, '42000');
            fails(fn () => run("INSERT INTO @_a (v) VALUES ('one')"), 1062, '23000');
            fails(fn () => run('SELECT * FROM @_none'), 1146, '42S02');
            fails(fn () => $c->prepare('SELECT ? FROM'), 1064, '42000');
            same(run('SELECT 5'), [['5']]);
        }
    },
    'change_user' => function () {
        global $c;
        run('SET @kept = 1');
        $c->change_user(getenv('TG_USER'), getenv('TG_PASSWORD'), getenv('TG_DATABASE'));
        same(run('SELECT @kept, DATABASE()'), [[null, getenv('TG_DATABASE')]]);
        $c->set_charset('utf8mb4');
    },
    'reset_connection' => fn () => throw new Skip('mysqli has no reset_connection'),
    'local_infile' => function () {
        global $c;
        if (run('SELECT @@GLOBAL.local_infile') !== [['1']]) throw new Skip('the server has local_infile off');
        $name = tempnam(sys_get_temp_dir(), 'tollgate');
        file_put_contents($name, implode('', array_map(fn ($i) => (2000000 + $i) . "\t$i\t" . TEXT . " $i\n", range(0, 4999))));
        run("LOAD DATA LOCAL INFILE '$name' INTO TABLE @_p CHARACTER SET utf8mb4 (id, b, s)");
        unlink($name);
        same($c->affected_rows, 5000);
        same(run("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('" . TEXT . " ', b)) FROM @_p WHERE id >= 2000000"), [['5000', '12497500', '5000']]);
    },
    'warnings' => function () {
        global $c;
        run("SELECT CAST('12abc' AS SIGNED), 1/0");
        same([$c->warning_count, array_column(run('SHOW WARNINGS'), 1)], [2, ['1292', '1365']]);
    },
    'pipelining' => fn () => throw new Skip('the driver waits for each reply'),
    'cancel' => function () {
        global $c;
        $second = connect();
        $id = run('SELECT CONNECTION_ID()')[0][0];
        foreach ([$c->thread_id, $id] as $victim) {
            $begun = microtime(true);
            $c->query('SELECT SLEEP(30)', MYSQLI_ASYNC);
            while (run("SELECT COUNT(*) FROM " . PROCESSES . " WHERE id = $id AND state = 'User sleep'", $second) === [['0']]) usleep(20000);
            run("KILL QUERY $victim", $second);
            // MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error.
            try { same($c->reap_async_query()->fetch_all(), [['1']]); } catch (mysqli_sql_exception $e) { same($e->getCode(), 1317); }
            if (microtime(true) - $begun > 20) throw new Exception("KILL QUERY $victim did not end the statement");
            same(run('SELECT 5'), [['5']]);
        }
        $third = connect();
        // Its own means: COM_PROCESS_KILL, which ends the connection. MySQL 9 does not know that command any more.
        try { $second->kill($third->thread_id); }
        catch (mysqli_sql_exception $e) { same($e->getCode(), 1047); run("KILL {$third->thread_id}", $second); }
        try { for ($i = 0; $i < 50; $i++) @run('DO SLEEP(0.1)', $third); throw new Exception('the connection lives on'); }
        catch (mysqli_sql_exception $e) { same(in_array($e->getCode(), [2006, 2013, 4031, 1927]), true); }
    },
    // mysqli loses the SQLSTATE of a login error, whatever the server sent.
    'wrong_password' => fn () => fails(fn () => connect('wrong'), 1045, 'HY000'),
    'unknown_database' => fn () => fails(fn () => connect(null, T . '_none'), 1049, 'HY000'),
    'attributes' => function () {
        if (run('SELECT @@performance_schema') !== [['1']]) throw new Skip('the server has performance_schema off');
        same(run("SELECT attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() AND attr_name = '_client_name'"), [['mysqlnd']]);
    },
    'quit' => function () {
        global $c;
        run('DROP TABLE @_a, @_p, @_d');
        run('DROP PROCEDURE @_two');
        $id = run('SELECT CONNECTION_ID()')[0][0];
        $c->close();
        $c = connect();
        for ($i = 0; $i < 250 && ($alive = run("SELECT COUNT(*) FROM " . PROCESSES . " WHERE id = $id")) !== [['0']]; $i++) usleep(20000);
        same($alive, [['0']]);
    },
];
foreach ($steps as $name => $step) {
    try { $step(); echo "ok $name\n"; }
    catch (Skip $e) { echo "skip $name: {$e->getMessage()}\n"; }
    catch (Throwable $e) { echo "FAIL $name: line {$e->getLine()}: {$e->getMessage()}\n"; exit(1); }
}
echo "done\n";
