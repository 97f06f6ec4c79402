<?php
// PHP's PDO over mysqlnd has no pool; frameworks look at the text of an error to decide whether a connection was lost. The words that
// Laravel looks for (Illuminate\Database\LostConnectionDetector) must not be in ours.
const LOST = ['server has gone away', 'Lost connection', 'no connection to the server', 'is dead or not enabled', 'Error while sending',
    'decryption failed or bad record mac', 'server closed the connection unexpectedly', 'SSL connection has been closed unexpectedly',
    'Error writing data to the connection', 'Resource deadlock avoided', 'Transaction() on null', 'child connection forced to terminate',
    'query_wait_timeout', 'reset by peer', 'Physical connection is not usable', 'TCP Provider: Error code', 'ORA-03114', 'Packets out of order',
    'Adaptive Server connection failed', 'Communication link failure', 'connection is no longer usable', 'Login timeout expired', 'Connection refused',
    'running with the --read-only option', 'Broken pipe', 'Connection timed out', 'connection was killed', 'failed to connect to'];
$c = new PDO('mysql:host=' . getenv('TG_HOST') . ';port=' . getenv('TG_PORT') . ';dbname=' . getenv('TG_DATABASE'), getenv('TG_USER'), getenv('TG_PASSWORD'),
    [PDO::ATTR_EMULATE_PREPARES => false, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$insert = 'INSERT INTO ' . getenv('TG_TABLE') . ' (batch) VALUES (?)';

function fail(string $why): void { echo "FAIL: $why\n"; exit(1); }
function id(): int { return (int) $GLOBALS['c']->query('SELECT CONNECTION_ID()')->fetchColumn(); }
function refused(callable $work): void {
    try { $work(); } catch (PDOException $e) {
        if ($e->errorInfo[0] !== 'HY000' || $e->errorInfo[1] !== 1226) fail($e->getMessage());
        if (!str_contains($e->getMessage(), '[tollgate] rule=no-writes reason=ratio client=')) fail($e->getMessage());
        foreach (LOST as $words) if (str_contains($e->getMessage(), $words)) fail("`$words` in: " . $e->getMessage());
        return;
    }
    fail('it was not refused');
}
$first = id();
refused(fn () => $c->exec(str_replace('?', '1', $insert)));
echo "ok text\n";
refused(fn () => $c->prepare($insert)->execute([1]));
echo "ok prepared\n";
$c->beginTransaction();
$c->query('SELECT COUNT(*) FROM ' . getenv('TG_TABLE'))->fetchAll();
refused(fn () => $c->exec(str_replace('?', '1', $insert)));
$c->rollBack();
echo "ok transaction\n";
if (id() !== $first) fail('another connection');
echo "ok same_connection\ndone\n";
