# Ruby's mysql2 over Debian's libmariadb. Without TLS libmariadb asks the server for its RSA key by itself on a cold caching_sha2_password cache.
require 'mysql2'
require 'digest'
require 'tempfile'
require 'bigdecimal'

T = ENV['TG_TABLE']
TLS = ENV['TG_TLS'] == 'on'
TEXT = 'naïve 日本 🐬'
class Skip < StandardError; end

def connect(other = {})
  options = { username: ENV['TG_USER'], password: ENV['TG_PASSWORD'], database: ENV['TG_DATABASE'], encoding: 'utf8mb4', local_infile: true,
              flags: Mysql2::Client::MULTI_STATEMENTS, connect_attrs: { program_name: 'tollgate-ruby' }, database_timezone: :utc, as: :array }
  options.merge!(ENV['TG_SOCKET'].empty? ? { host: ENV['TG_HOST'], port: ENV['TG_PORT'].to_i } : { socket: ENV['TG_SOCKET'] })
  options.merge!(TLS ? { sslcipher: 'DEFAULT', sslverify: false } : {})
  Mysql2::Client.new(options.merge(other))
end

def same(got, expected)
  raise "got #{got.inspect[0, 400]}, expected #{expected.inspect[0, 400]}" unless got == expected
end

def run(sql, on = $c) = on.query(sql.gsub('@_', "#{T}_"))&.to_a
def prepare(sql) = $c.prepare(sql.gsub('@_', "#{T}_"))

def fails(code, state)
  yield
rescue Mysql2::Error => e
  same([e.error_number, e.sql_state], [code, state])
else
  raise "no error, expected #{code}"
end

def all_results(sql)
  all = [run(sql)]
  all << $c.store_result&.to_a while $c.next_result
  all
end

WHEN = Time.utc(2026, 11, 16, 1, 2, Rational(3_456_789, 1_000_000))
def row(i) = [i, -i * 2**40, i / 8.0, "#{TEXT} #{i}", i % 3 == 0 ? i : nil, [i % 256, 0, 255].pack('C*'), WHEN]

STEPS = {
  connect: lambda {
    $c = connect
    same(!$c.ssl_cipher.nil?, TLS)
    run('DROP TABLE IF EXISTS @_a, @_p, @_d')
    run('DROP PROCEDURE IF EXISTS @_two')
    run('CREATE TABLE @_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4')
    run('CREATE TABLE @_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4')
    run('CREATE TABLE @_d (d INT)')
    run('INSERT INTO @_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)')
    run("CREATE PROCEDURE @_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END")
  },
  ping: -> { 3.times { same($c.ping, true) } },
  text: lambda {
    same(run("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '#{TEXT}', NULL, '',
              X'00FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'"),
         [[42, -2**63, 2**64 - 1, 1.5, BigDecimal('12345678901234.567890'), TEXT, nil, '', "\x00\xFF'\"\\\n".b, Date.new(2026, 11, 16),
           Time.utc(2026, 11, 16, 12, 34, Rational(56_789_012, 1_000_000))]])
    same(run('SELECT 1 FROM dual WHERE 1 = 0'), [])
    same(run("INSERT INTO @_a (v) VALUES ('one'), ('#{TEXT}')"), nil)
    same([$c.affected_rows, $c.last_id], [2, 1])
    same(run('SELECT * FROM @_a ORDER BY id'), [[1, 'one'], [2, TEXT]])
  },
  prepared: lambda {
    insert = prepare('INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)')
    300.times do |i|
      insert.execute(*row(i))
      same(insert.affected_rows, 1)
    end
    insert.execute(300, '77', 1, 12, '5', 'text', '2026-11-16 01:02:03.456789') # the same statement with other types
    insert.close
    select = prepare('SELECT * FROM @_p WHERE id >= ? ORDER BY id')
    [0, 100, 300, 1000].each do |low|
      expected = (low...300).map { |i| row(i) }
      expected << [300, 77, 1.0, '12', 5, 'text', WHEN] if low <= 300
      same(select.execute(low).to_a, expected)
    end
    select.close
  },
  cursor: lambda {
    # stream: a server-side cursor. Numbers only: with libmariadb this version of the driver has no room for strings then (MYSQL_DATA_TRUNCATED).
    select = prepare('SELECT id, b, d FROM @_p WHERE id < ? ORDER BY id')
    2.times do
      count = 0
      select.execute(300, stream: true, cache_rows: false).each { |r| same(r, row(count)[0, 3]); count += 1 }
      same(count, 300)
    end
    select.close
  },
  long_data: -> { raise Skip, 'the driver does not send long data' },
  transaction: lambda {
    run('SET autocommit = 0')
    run("INSERT INTO @_a (v) VALUES ('tx-1')")
    run('ROLLBACK')
    run("INSERT INTO @_a (v) VALUES ('tx-2')")
    run('COMMIT')
    run('SET autocommit = 1')
    run('BEGIN')
    run("INSERT INTO @_a (v) VALUES ('tx-3')")
    run('ROLLBACK')
    same(run("SELECT v FROM @_a WHERE v LIKE 'tx-_'"), [['tx-2']])
  },
  multi_result: lambda {
    two = [[[7, 'first']], [[8, 'second'], [9, 'third']]]
    same(all_results('CALL @_two(7)'), [*two, nil])
    same(all_results("SELECT 1; CALL @_two(7); DO 1; SELECT 'x', NULL"), [[[1]], *two, nil, nil, [['x', nil]]])
    $c.set_server_option(Mysql2::Client::OPTION_MULTI_STATEMENTS_OFF)
    fails(1064, '42000') { run('SELECT 1; SELECT 2') }
    $c.set_server_option(Mysql2::Client::OPTION_MULTI_STATEMENTS_ON)
  },
  large_row: lambda { # every eight bytes differ, so that a lost, doubled or moved piece shows
    value = (0...ENV['TG_LARGE_BYTES'].to_i / 8).map { |i| format('%08x', i) }.join
    insert = prepare('INSERT INTO @_p (id, bin) VALUES (?, ?)')
    insert.execute(1_000_000, value.b)
    insert.close
    run("INSERT INTO @_p (id, bin) VALUES (1000001, '#{value}')")
    [1_000_000, 1_000_001].each do |id|
      same(run("SELECT LENGTH(bin), SHA2(bin, 256) FROM @_p WHERE id = #{id}"), [[value.size, Digest::SHA256.hexdigest(value)]])
      same(run("SELECT bin, 'after' FROM @_p WHERE id = #{id}") == [[value.b, 'after']], true)
      select = prepare("SELECT bin, 'after' FROM @_p WHERE id = ?")
      same(select.execute(id).to_a == [[value.b, 'after']], true)
      select.close
    end
    run('DELETE FROM @_p WHERE id >= 1000000')
  },
  many_rows: lambda {
    count = 0
    $c.query("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM @_d a, @_d b, @_d c, @_d e, @_d f) x ORDER BY n"
      .gsub('@_', "#{T}_"), stream: true, cache_rows: false).each do |n, s|
      raise "row #{count} is #{n}, #{s}" unless n == count && s == "row-#{count}"
      count += 1
    end
    same(count, 100_000)
  },
  error: lambda {
    2.times do
      fails(1064, '42000') { run('SELECT 1 FROM') }
      fails(1062, '23000') { run("INSERT INTO @_a (v) VALUES ('one')") }
      fails(1146, '42S02') { run('SELECT * FROM @_none') }
      fails(1064, '42000') { prepare('SELECT ? FROM') }
      same(run('SELECT 5'), [[5]])
    end
  },
  change_user: -> { raise Skip, 'the driver has no change_user' },
  reset_connection: -> { raise Skip, 'the driver has no reset_connection' },
  local_infile: lambda {
    raise Skip, 'the server has local_infile off' unless run('SELECT @@GLOBAL.local_infile') == [[1]]
    Tempfile.create('tollgate') do |file|
      5000.times { |i| file.write("#{2_000_000 + i}\t#{i}\t#{TEXT} #{i}\n") }
      file.flush
      run("LOAD DATA LOCAL INFILE '#{file.path}' INTO TABLE @_p CHARACTER SET utf8mb4 (id, b, s)")
    end
    same($c.affected_rows, 5000)
    same(run("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('#{TEXT} ', b)) FROM @_p WHERE id >= 2000000"), [[5000, 12_497_500, 5000]])
  },
  warnings: lambda {
    run("SELECT CAST('12abc' AS SIGNED), 1/0")
    same([$c.warning_count, run('SHOW WARNINGS').map { |w| w[1] }], [2, [1292, 1365]])
  },
  pipelining: -> { raise Skip, 'the driver waits for each reply' },
  cancel: lambda {
    second = connect
    id = run('SELECT CONNECTION_ID()')[0][0]
    [$c.thread_id, id].each do |victim|
      begun = Time.now
      $c.query('SELECT SLEEP(30)', async: true)
      sleep 0.02 while run("SELECT COUNT(*) FROM #{ENV['TG_PROCESSLIST']} WHERE id = #{id} AND state = 'User sleep'", second) == [[0]]
      run("KILL QUERY #{victim}", second)
      begin # MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error
        same($c.async_result.to_a, [[1]])
      rescue Mysql2::Error => e
        same(e.error_number, 1317)
      end
      raise "KILL QUERY #{victim} did not end the statement" if Time.now - begun > 20
      same(run('SELECT 5'), [[5]])
    end
    second.close
  },
  wrong_password: -> { fails(1045, '28000') { connect(password: 'wrong') } },
  unknown_database: -> { fails(1049, '42000') { connect(database: "#{T}_none") } },
  attributes: lambda {
    raise Skip, 'the server has performance_schema off' unless run('SELECT @@performance_schema') == [[1]]
    same(run("SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()
              AND attr_name IN ('program_name', '_client_name') ORDER BY attr_name"), [%w[_client_name libmariadb], %w[program_name tollgate-ruby]])
  },
  quit: lambda {
    run('DROP TABLE @_a, @_p, @_d')
    run('DROP PROCEDURE @_two')
    id = run('SELECT CONNECTION_ID()')[0][0]
    $c.close
    $c = connect
    alive = nil
    250.times do
      break if (alive = run("SELECT COUNT(*) FROM #{ENV['TG_PROCESSLIST']} WHERE id = #{id}")) == [[0]]
      sleep 0.02
    end
    same(alive, [[0]])
  }
}.freeze

$stdout.sync = true
STEPS.each do |name, step|
  step.call
  puts "ok #{name}"
rescue Skip => e
  puts "skip #{name}: #{e.message}"
rescue StandardError => e
  puts "FAIL #{name}: #{e.class}: #{e.message} #{e.backtrace[0, 3].join(' ')}"
  exit 1
end
puts 'done'
