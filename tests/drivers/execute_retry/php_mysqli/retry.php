<?php
// As ../retry.c: with TG_EXPECT_REFUSAL=1 the first EXECUTE of each connection fails with 1226 HY000; the same statement, not bound again, then works.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$refusal = getenv('TG_EXPECT_REFUSAL') === '1';
foreach (['plain', 'long_data'] as $step) {
    try {
        $c = mysqli_init();
        $socket = getenv('TG_SOCKET');
        $c->real_connect($socket ? 'localhost' : getenv('TG_HOST'), getenv('TG_USER'), getenv('TG_PASSWORD'), getenv('TG_DATABASE'), (int) getenv('TG_PORT'), $socket ?: null,
            getenv('TG_TLS') === 'on' ? MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT : 0);
        $table = getenv('TG_TABLE') . "_$step";
        $c->query("DROP TABLE IF EXISTS $table");
        $c->query("CREATE TABLE $table (id INT PRIMARY KEY, s TEXT, bin LONGBLOB)");
        $stmt = $c->prepare("INSERT INTO $table VALUES (?, ?, ?)");
        $long = $step === 'long_data';
        [$id, $s, $bin] = [1, 'text', $long ? null : 'abcdefgh'];
        $stmt->bind_param($long ? 'isb' : 'iss', $id, $s, $bin);
        for ($execution = 0; $execution < 4; $execution++) { // the first and its retry, then two more with other values
            if ($execution === 1 && !$refusal) continue;
            if ($execution >= 2) [$id, $s] = [$execution, $execution === 3 ? null : 'text'];
            if ($long) for ($i = 0; $i < 1000; $i++) $stmt->send_long_data(2, 'abcdefgh');
            try {
                $stmt->execute();
                if ($execution === 0 && $refusal) throw new Exception('the first execution was not refused');
                if ($stmt->affected_rows !== 1) throw new Exception("execution $execution affected no row");
            } catch (mysqli_sql_exception $e) {
                if ($execution > 0 || !$refusal) throw $e;
                if ([$e->getCode(), $e->getSqlState()] !== [1226, 'HY000']) throw new Exception("refused with {$e->getCode()} {$e->getSqlState()}, expected 1226 HY000");
                if (getenv('TG_WAIT')) { echo "refused $step\n"; fgets(STDIN); }
            }
        }
        $stmt->close();
        $value = str_repeat('abcdefgh', $long ? 1000 : 1);
        $rows = $c->query("SELECT id, s, bin FROM $table ORDER BY id")->fetch_all();
        if ($rows !== [['1', 'text', $value], ['2', 'text', $value], ['3', null, $value]]) throw new Exception('the table holds ' . substr(var_export($rows, true), 0, 400));
        $c->query("DROP TABLE $table");
        $c->close();
        echo "ok $step\n";
    } catch (Throwable $e) { echo "FAIL $step: {$e->getMessage()}\n"; exit(1); }
}
echo "done\n";
