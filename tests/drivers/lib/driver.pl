# Perl's DBI with DBD::mysql or DBD::MariaDB (the argument), both over Debian's libmariadb, which asks the server for its RSA key by itself when
# there is no TLS and the caching_sha2_password cache is cold. mysql_server_prepare is on, except where a step says.
use strict;
use warnings;
use utf8;
use DBI qw(:sql_types);
use Digest::SHA qw(sha256_hex);
use File::Temp;
use Time::HiRes qw(sleep time);
use POSIX ();
binmode STDOUT, ':utf8';
$| = 1;

my $driver = shift;                                   # mysql or MariaDB
my $p = lc $driver;                                   # the prefix of its attributes
my ($T, $TLS) = ($ENV{TG_TABLE}, $ENV{TG_TLS} eq 'on');
my $TEXT = 'naïve 日本 🐬';
my $c;
sub skip { die { skip => shift } }

sub attempt {
    my %o = (password => $ENV{TG_PASSWORD}, database => $ENV{TG_DATABASE}, @_);
    my $dsn = "DBI:$driver:database=$o{database};" . ($ENV{TG_SOCKET} ? "${p}_socket=$ENV{TG_SOCKET}" : "host=$ENV{TG_HOST};port=$ENV{TG_PORT}");
    # Both drivers refuse to enforce TLS without verifying the certificate, so TLS is "optional" here: used, as the server offers it.
    $dsn .= ";${p}_ssl=1;${p}_ssl_optional=1;${p}_ssl_verify_server_cert=0" if $TLS;
    $dsn .= ";${p}_local_infile=1;${p}_multi_statements=1";
    my %attributes = (RaiseError => 1, PrintError => 0, AutoCommit => 1, "${p}_server_prepare" => 1);
    $attributes{mysql_enable_utf8mb4} = 1 if $p eq 'mysql';
    $attributes{mysql_auto_reconnect} = 0 if $p eq 'mysql';
    $attributes{mariadb_conn_attrs} = { program_name => 'tollgate-perl' } if $p eq 'mariadb';
    $attributes{mysql_conn_attrs} = { program_name => 'tollgate-perl' } if $p eq 'mysql';
    return DBI->connect($dsn, $ENV{TG_USER}, $o{password}, \%attributes);
}
sub show { my $v = shift; !defined $v ? 'undef' : ref $v ? '[' . join(', ', map { show($_) } @$v) . ']' : "'$v'" }
sub same {
    my ($got, $expected) = map { show($_) } @_;
    die 'got ' . substr($got, 0, 400) . ', expected ' . substr($expected, 0, 400) . ' line ' . (caller)[2] . "\n" if $got ne $expected;
}
sub sql { my $s = shift; $s =~ s/\@_/${T}_/g; $s }
sub rows { my ($s, $on, @bind) = @_; ($on // $c)->selectall_arrayref(sql($s), undef, @bind) }
sub text { my $s = shift; $c->selectall_arrayref(sql($s), { "${p}_server_prepare" => 0 }) }
sub run { my ($s, $on) = @_; 0 + ($on // $c)->do(sql($s)) }
sub fails {
    my ($code, $state, $call) = @_;
    eval { $call->(); 1 } and die "no error, expected $code\n";
    same([$DBI::err, $DBI::state], [$code, $state]);
}
sub row { my $i = shift; [$i, -$i * 2**40, $i / 8, "$TEXT $i", $i % 3 ? undef : $i, pack('C*', $i % 256, 0, 255), '2026-11-16 01:02:03.456789'] }
sub bind_row {
    my ($insert, $row) = @_;
    my @type = (SQL_INTEGER, SQL_BIGINT, SQL_DOUBLE, SQL_VARCHAR, SQL_INTEGER, SQL_BLOB, SQL_VARCHAR);
    $insert->bind_param($_ + 1, $row->[$_], $type[$_]) for 0 .. 6;
}
sub all_results {
    my $st = $c->prepare(sql(shift), { "${p}_server_prepare" => 0 });
    $st->execute;
    my @all;
    do { push @all, $st->{NUM_OF_FIELDS} ? $st->fetchall_arrayref : 'ok' } while $st->more_results;
    return \@all;
}

my @steps = (
    connect => sub {
        $c = attempt();
        run($_) for 'DROP TABLE IF EXISTS @_a, @_p, @_d', 'DROP PROCEDURE IF EXISTS @_two',
            'CREATE TABLE @_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4',
            'CREATE TABLE @_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4',
            'CREATE TABLE @_d (d INT)', 'INSERT INTO @_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)';
        $c->do(sql("CREATE PROCEDURE \@_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END"), { "${p}_server_prepare" => 0 });
    },
    ping => sub { same(0 + $c->ping, 1) for 1 .. 3; },
    text => sub {
        same(text("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '$TEXT', NULL, '',
            X'41FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'"),
            [['42', '-9223372036854775808', '18446744073709551615', '1.5', '12345678901234.567890', $TEXT, undef, '', "A\xff'\"\\\n", '2026-11-16', '2026-11-16 12:34:56.789012']]);
        same(text('SELECT 1 FROM dual WHERE 1 = 0'), []);
        same(run("INSERT INTO \@_a (v) VALUES ('one'), ('$TEXT')"), 2);
        same($c->{"${p}_insertid"}, 1);
        same(text('SELECT * FROM @_a ORDER BY id'), [[1, 'one'], [2, $TEXT]]);
    },
    prepared => sub {
        my $insert = $c->prepare(sql('INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)'));
        for my $i (0 .. 299) { bind_row($insert, row($i)); same(0 + $insert->execute, 1) }
        undef $insert;                                # closes the statement
        $insert = $c->prepare(sql('INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)'));
        bind_row($insert, row(301)); $insert->execute;
        $insert->bind_param($_->[0], $_->[1], $_->[2]) for [1, '300', SQL_VARCHAR], [2, '77', SQL_VARCHAR], [3, '1', SQL_VARCHAR], [4, 12, SQL_INTEGER], [5, '5', SQL_VARCHAR], [6, 'text', SQL_VARCHAR];
        $insert->execute;                             # the same statement with other types
        run('DELETE FROM @_p WHERE id = 301');
        my $select = $c->prepare(sql('SELECT * FROM @_p WHERE id >= ? ORDER BY id'));
        for my $low (0, 100, 300, 1000) {
            $select->bind_param(1, $low, SQL_INTEGER);
            $select->execute;
            my @expected = map { row($_) } $low .. 299;
            push @expected, [300, 77, 1, 12, 5, 'text', '2026-11-16 01:02:03.456789'] if $low <= 300;
            same($select->fetchall_arrayref, \@expected);
        }
    },
    cursor => sub { skip('the driver has no server-side cursor') },
    long_data => sub { skip('the driver does not send long data') },
    transaction => sub {
        $c->{AutoCommit} = 0;
        run("INSERT INTO \@_a (v) VALUES ('tx-1')");
        $c->rollback;
        run("INSERT INTO \@_a (v) VALUES ('tx-2')");
        $c->commit;
        $c->{AutoCommit} = 1;
        $c->begin_work;
        run("INSERT INTO \@_a (v) VALUES ('tx-3')");
        $c->rollback;
        same(rows("SELECT v FROM \@_a WHERE v LIKE 'tx-_'"), [['tx-2']]);
    },
    multi_result => sub {
        my @two = ([[7, 'first']], [[8, 'second'], [9, 'third']]);
        same(all_results('CALL @_two(7)'), [@two, 'ok']);
        same(all_results("SELECT 1; CALL \@_two(7); DO 1; SELECT 'x', NULL"), [[[1]], @two, 'ok', 'ok', [['x', undef]]]);
        same(rows('SELECT 5'), [[5]]);
    },
    large_row => sub {                                # every eight bytes differ, so that a lost, doubled or moved piece shows
        my $value = join '', map { sprintf '%08x', $_ } 0 .. $ENV{TG_LARGE_BYTES} / 8 - 1;
        for my $server (1, 0) {
            my $insert = $c->prepare(sql('REPLACE INTO @_p (id, bin) VALUES (1000000, ?)'), { "${p}_server_prepare" => $server });
            $insert->bind_param(1, $value, SQL_BLOB);
            $insert->execute;
            same(rows('SELECT LENGTH(bin), SHA2(bin, 256) FROM @_p WHERE id = 1000000'), [[length $value, sha256_hex($value)]]);
            my $got = $c->selectall_arrayref(sql("SELECT bin, 'after' FROM \@_p WHERE id = 1000000"), { "${p}_server_prepare" => $server });
            die "the value came back changed\n" unless $got->[0][0] eq $value && $got->[0][1] eq 'after';
        }
        run('DELETE FROM @_p WHERE id >= 1000000');
    },
    many_rows => sub {
        # DBD::MariaDB 1.22 cannot stream: with use_result it loses the rows (text) or hangs (prepared), also without a proxy.
        my $st = $c->prepare(sql("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM
            \@_d a, \@_d b, \@_d c, \@_d e, \@_d f) x ORDER BY n"), { "${p}_server_prepare" => 0, "${p}_use_result" => $p eq 'mysql' ? 1 : 0 });
        $st->execute;
        my $count = 0;
        while (my $row = $st->fetchrow_arrayref) {
            die "row $count is @$row\n" unless $row->[0] == $count && $row->[1] eq "row-$count";
            $count++;
        }
        same($count, 100000);
    },
    error => sub {
        for (1, 2) {
            fails(1064, '42000', sub { text('SELECT 1 FROM') });
            fails(1064, '42000', sub { run('SELECT 1 FROM') });
            fails(1062, '23000', sub { run("INSERT INTO \@_a (v) VALUES ('one')") });
            fails(1146, '42S02', sub { rows('SELECT * FROM @_none') });
            same(rows('SELECT 5'), [[5]]);
        }
    },
    change_user => sub { skip('the driver has no change_user') },
    reset_connection => sub { skip('the driver has no reset_connection') },
    local_infile => sub {
        skip('the server has local_infile off') unless rows('SELECT @@GLOBAL.local_infile')->[0][0];
        my $file = File::Temp->new;
        binmode $file, ':utf8';
        print $file 2000000 + $_, "\t$_\t$TEXT $_\n" for 0 .. 4999;
        $file->flush;
        my $n = $c->do(sql("LOAD DATA LOCAL INFILE '" . $file->filename . "' INTO TABLE \@_p CHARACTER SET utf8mb4 (id, b, s)"), { "${p}_server_prepare" => 0 });
        same(0 + $n, 5000);
        same(text("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('$TEXT ', b)) FROM \@_p WHERE id >= 2000000"), [[5000, 12497500, 5000]]);
    },
    warnings => sub {
        my $st = $c->prepare("SELECT CAST('12abc' AS SIGNED), 1/0", { "${p}_server_prepare" => 0 });
        $st->execute;
        $st->fetchall_arrayref;
        same($st->{"${p}_warning_count"}, 2);
        same([map { $_->[1] } @{ text('SHOW WARNINGS') }], [1292, 1365]);
    },
    pipelining => sub { skip('the driver waits for each reply') },
    cancel => sub {
        my $id = rows('SELECT CONNECTION_ID()')->[0][0];
        for my $victim ($c->{"${p}_thread_id"}, $id) {
            my $begun = time;
            my $child = fork;
            if (!$child) {                            # the second connection; _exit, so that nothing ends the parent's connection
                my $second = attempt();
                sleep 0.02 until rows("SELECT COUNT(*) FROM $ENV{TG_PROCESSLIST} WHERE id = $id AND state = 'User sleep'", $second)->[0][0];
                $second->do("KILL QUERY $victim");
                POSIX::_exit(0);
            }
            # MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error.
            my $got = eval { text('SELECT SLEEP(30)') };
            if ($got && @$got) { same($got, [[1]]) } else { same($DBI::err, 1317) }
            waitpid $child, 0;
            die "the second connection failed\n" if $?;
            die "KILL QUERY $victim did not end the statement\n" if time - $begun > 20;
            same(rows('SELECT 5'), [[5]]);
        }
    },
    wrong_password => sub { fails(1045, '28000', sub { attempt(password => 'wrong') }) },
    unknown_database => sub { fails(1049, '42000', sub { attempt(database => "${T}_none") }) },
    attributes => sub {
        skip('the server has performance_schema off') unless rows('SELECT @@performance_schema')->[0][0];
        same(rows("SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()
            AND attr_name IN ('program_name', '_client_name') ORDER BY attr_name"), [['_client_name', 'libmariadb'], ['program_name', 'tollgate-perl']]);
    },
    quit => sub {
        run('DROP TABLE @_a, @_p, @_d');
        run('DROP PROCEDURE @_two');
        my $id = rows('SELECT CONNECTION_ID()')->[0][0];
        $c->disconnect;
        $c = attempt();
        my $alive;
        for (1 .. 250) {
            $alive = rows("SELECT COUNT(*) FROM $ENV{TG_PROCESSLIST} WHERE id = $id")->[0][0];
            last unless $alive;
            sleep 0.02;
        }
        same($alive, 0);
    },
);
while (my ($name, $step) = splice @steps, 0, 2) {
    if (eval { $step->(); 1 }) { print "ok $name\n" }
    elsif (ref $@) { print "skip $name: $@->{skip}\n" }
    else { print "FAIL $name: $@"; exit 1 }
}
print "done\n";
