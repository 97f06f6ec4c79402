// Go's go-sql-driver/mysql. Without TLS it asks the server for its RSA key by itself on a cold caching_sha2_password cache.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const text = "naïve 日本 🐬"

type skip string

var (
	prefix    = os.Getenv("TG_TABLE")
	processes = os.Getenv("TG_PROCESSLIST")
	pool      *sql.DB
	conn      *sql.Conn // one connection, as the steps mean one session
	ctx       = context.Background()
)

// largeBytes is the size of the large row.
var largeBytes, _ = strconv.Atoi(os.Getenv("TG_LARGE_BYTES"))

func check(err error) {
	if err != nil {
		panic(err)
	}
}
func same(got, expected interface{}) {
	if !reflect.DeepEqual(got, expected) {
		panic(fmt.Sprintf("got %.400s, expected %.400s", fmt.Sprint(got), fmt.Sprint(expected)))
	}
}
func q(s string) string { return strings.ReplaceAll(s, "@_", prefix+"_") }

func open(password, database string) *sql.DB {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName, c.Net, c.Addr = os.Getenv("TG_USER"), password, database, "tcp", os.Getenv("TG_HOST")+":"+os.Getenv("TG_PORT")
	if socket := os.Getenv("TG_SOCKET"); socket != "" {
		c.Net, c.Addr = "unix", socket
	}
	c.MultiStatements, c.ParseTime, c.MaxAllowedPacket, c.Collation = true, true, 64<<20, "utf8mb4_general_ci"
	if os.Getenv("TG_TLS") == "on" {
		check(mysql.RegisterTLSConfig("any", &tls.Config{InsecureSkipVerify: true}))
		c.TLSConfig = "any"
	}
	db, err := sql.Open("mysql", c.FormatDSN())
	check(err)
	return db
}

// Rows as strings, fields joined by '|', rows by '/', <null> for NULL.
func read(rows *sql.Rows) string {
	columns, err := rows.Columns()
	check(err)
	var lines []string
	for rows.Next() {
		fields, targets := make([]sql.RawBytes, len(columns)), make([]interface{}, len(columns))
		for i := range fields {
			targets[i] = &fields[i]
		}
		check(rows.Scan(targets...))
		var line []string
		for _, f := range fields {
			if f == nil {
				line = append(line, "<null>")
			} else {
				line = append(line, string(f))
			}
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	return strings.Join(lines, "/")
}
func query(s string, args ...interface{}) (string, error) {
	rows, err := conn.QueryContext(ctx, q(s), args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	got := read(rows)
	return got, rows.Err()
}
func expect(s, expected string, args ...interface{}) {
	got, err := query(s, args...)
	check(err)
	same(got, expected)
}
func exec(s string, args ...interface{}) sql.Result {
	r, err := conn.ExecContext(ctx, q(s), args...)
	check(err)
	return r
}
func fails(err error, number uint16, message string) { // this version of the driver does not keep the SQLSTATE
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		panic(fmt.Sprintf("got %v, expected error %d", err, number))
	}
	same(e.Number, number)
	if !strings.Contains(e.Message, message) {
		panic("message " + e.Message)
	}
}

type row struct {
	id, b int64
	d     float64
	s     string
	n     sql.NullInt64
	bin   []byte
	dt    time.Time
}

func example(i int64) row {
	r := row{id: i, b: -i << 40, d: float64(i) / 8, s: fmt.Sprintf("%s %d", text, i), bin: []byte{byte(i), 0, 255}, dt: time.Date(2026, 11, 16, 1, 2, 3, 456789000, time.UTC)}
	if i%3 == 0 {
		r.n = sql.NullInt64{Int64: i, Valid: true}
	}
	return r
}

var names = strings.Fields(`connect ping text prepared cursor long_data transaction multi_result large_row many_rows error change_user
	reset_connection local_infile warnings pipelining cancel wrong_password unknown_database attributes quit`)

var steps = map[string]func(){
	"connect": func() {
		pool = open(os.Getenv("TG_PASSWORD"), os.Getenv("TG_DATABASE"))
		var err error
		conn, err = pool.Conn(ctx)
		check(err)
		exec("DROP TABLE IF EXISTS @_a, @_p, @_d")
		exec("DROP PROCEDURE IF EXISTS @_two")
		exec("CREATE TABLE @_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4")
		exec("CREATE TABLE @_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4")
		exec("CREATE TABLE @_d (d INT)")
		exec("INSERT INTO @_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
		exec("CREATE PROCEDURE @_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END")
	},
	"ping": func() {
		for i := 0; i < 3; i++ {
			check(conn.PingContext(ctx))
		}
	},
	"text": func() {
		expect("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '"+text+"', NULL, '', "+
			"X'00FF27225C0A', CAST(DATE'2026-11-16' AS CHAR), CAST(TIMESTAMP'2026-11-16 12:34:56.789012' AS CHAR)",
			"42|-9223372036854775808|18446744073709551615|1.5|12345678901234.567890|"+text+"|<null>||\x00\xff'\"\\\n|2026-11-16|2026-11-16 12:34:56.789012")
		expect("SELECT 1 FROM dual WHERE 1 = 0", "")
		r := exec("INSERT INTO @_a (v) VALUES ('one'), ('" + text + "')")
		affected, _ := r.RowsAffected()
		id, _ := r.LastInsertId()
		same([]int64{affected, id}, []int64{2, 1})
		expect("SELECT * FROM @_a ORDER BY id", "1|one/2|"+text)
	},
	"prepared": func() {
		insert, err := conn.PrepareContext(ctx, q("INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)"))
		check(err)
		for i := int64(0); i < 300; i++ {
			e := example(i)
			_, err = insert.Exec(e.id, e.b, e.d, e.s, e.n, e.bin, e.dt)
			check(err)
		}
		_, err = insert.Exec("300", "77", 1, 12, "5", "text", "2026-11-16 01:02:03.456789") // the same statement with other types
		check(err)
		check(insert.Close())
		query, err := conn.PrepareContext(ctx, q("SELECT * FROM @_p WHERE id >= ? ORDER BY id"))
		check(err)
		for _, low := range []int64{0, 100, 300, 1000} {
			rows, err := query.Query(low)
			check(err)
			i := low
			for ; rows.Next(); i++ {
				var r row
				check(rows.Scan(&r.id, &r.b, &r.d, &r.s, &r.n, &r.bin, &r.dt))
				expected := example(i)
				if i == 300 {
					expected = row{300, 77, 1, "12", sql.NullInt64{Int64: 5, Valid: true}, []byte("text"), expected.dt}
				}
				same(r, expected)
			}
			check(rows.Err())
			if low <= 300 {
				same(i, int64(301))
			} else {
				same(i, low)
			}
		}
		check(query.Close())
	},
	"cursor": func() { panic(skip("the driver has no server-side cursor; many_rows streams")) },
	"long_data": func() { // a parameter that does not fit into a packet with the others goes as long data
		value := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		insert, err := conn.PrepareContext(ctx, q("INSERT INTO @_p (id, s, bin, n) VALUES (?, ?, ?, ?)"))
		check(err)
		before, _ := query("SHOW SESSION STATUS LIKE 'Com_stmt_send_long_data'")
		big := bytes.Repeat(value, 33) // over half of maxAllowedPacket
		_, err = insert.Exec(5000, "before", big, 9)
		check(err)
		_, err = insert.Exec(5001, "plain", []byte("short"), nil)
		check(err)
		check(insert.Close())
		after, _ := query("SHOW SESSION STATUS LIKE 'Com_stmt_send_long_data'")
		sum := sha256.Sum256(big)
		expect("SELECT s, LENGTH(bin), SHA2(bin, 256), n FROM @_p WHERE id = 5000", fmt.Sprintf("before|%d|%s|9", len(big), hex.EncodeToString(sum[:])))
		expect("SELECT s, bin, n FROM @_p WHERE id = 5001", "plain|short|<null>")
		exec("DELETE FROM @_p WHERE id >= 5000")
		if before == after {
			panic("the driver sent no long data")
		}
	},
	"transaction": func() {
		exec("SET autocommit = 0")
		exec("INSERT INTO @_a (v) VALUES ('tx-1')")
		exec("ROLLBACK")
		exec("INSERT INTO @_a (v) VALUES ('tx-2')")
		exec("COMMIT")
		exec("SET autocommit = 1")
		for _, commit := range []bool{false, true} {
			tx, err := conn.BeginTx(ctx, nil)
			check(err)
			_, err = tx.Exec(q("INSERT INTO @_a (v) VALUES (?)"), fmt.Sprintf("tx-%v", commit))
			check(err)
			if commit {
				check(tx.Commit())
			} else {
				check(tx.Rollback())
			}
		}
		expect("SELECT v FROM @_a WHERE v LIKE 'tx-%' ORDER BY v", "tx-2/tx-true")
	},
	"multi_result": func() {
		for s, expected := range map[string][]string{
			"CALL @_two(7)": {"7|first", "8|second/9|third"},
			"SELECT 1; CALL @_two(7); DO 1; SELECT 'x', NULL": {"1", "7|first", "8|second/9|third", "x|<null>"}} {
			rows, err := conn.QueryContext(ctx, q(s))
			check(err)
			var got []string
			for more := true; more; more = rows.NextResultSet() {
				if result := read(rows); result != "" { // a plain OK between results shows as an empty one
					got = append(got, result)
				}
			}
			check(rows.Err())
			check(rows.Close())
			same(got, expected)
		}
		expect("SELECT 5", "5")
	},
	"large_row": func() { // every eight bytes differ, so that a lost, doubled or moved piece shows
		var b bytes.Buffer
		for i := 0; i < largeBytes/8; i++ {
			fmt.Fprintf(&b, "%08x", i)
		}
		value, sum := b.String(), sha256.Sum256(b.Bytes())
		exec("INSERT INTO @_p (id, bin) VALUES (1000000, '" + value + "')")
		exec("INSERT INTO @_p (id, bin) VALUES (1000001, ?)", value)
		expect("SELECT COUNT(*) FROM @_p WHERE id >= 1000000 AND SHA2(bin, 256) = '"+hex.EncodeToString(sum[:])+"'", "2")
		expect("SELECT bin, 'after' FROM @_p WHERE id = 1000000", value+"|after")
		expect("SELECT bin, 'after' FROM @_p WHERE id = ?", value+"|after", 1000001)
		exec("DELETE FROM @_p WHERE id >= 1000000")
	},
	"many_rows": func() {
		rows, err := conn.QueryContext(ctx, q("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM @_d a, @_d b, @_d c, @_d e, @_d f) x ORDER BY n"))
		check(err)
		count := 0
		for ; rows.Next(); count++ {
			var n int
			var s string
			check(rows.Scan(&n, &s))
			if n != count || s != fmt.Sprintf("row-%d", count) {
				panic(fmt.Sprintf("row %d is %d, %s", count, n, s))
			}
		}
		check(rows.Err())
		same(count, 100000)
	},
	"error": func() {
		for i := 0; i < 2; i++ {
			_, err := query("SELECT 1 FROM")
			fails(err, 1064, "syntax")
			_, err = conn.ExecContext(ctx, q("INSERT INTO @_a (v) VALUES ('one')"))
			fails(err, 1062, "Duplicate entry 'one'")
			_, err = query("SELECT * FROM @_none WHERE 1 = ?", 1)
			fails(err, 1146, "doesn't exist")
			expect("SELECT 5", "5")
		}
	},
	"change_user":      func() { panic(skip("the driver has no change_user")) },
	"reset_connection": func() { panic(skip("the driver has no reset_connection")) },
	"local_infile": func() {
		if on, _ := query("SELECT @@GLOBAL.local_infile"); on != "1" {
			panic(skip("the server has local_infile off"))
		}
		var b strings.Builder
		for i := 0; i < 5000; i++ {
			fmt.Fprintf(&b, "%d\t%d\t%s %d\n", 2000000+i, i, text, i)
		}
		mysql.RegisterReaderHandler("lines", func() io.Reader { return strings.NewReader(b.String()) })
		n, err := exec("LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE @_p CHARACTER SET utf8mb4 (id, b, s)").RowsAffected()
		check(err)
		same(n, int64(5000))
		expect("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('"+text+" ', b)) FROM @_p WHERE id >= 2000000", "5000|12497500|5000")
	},
	"warnings": func() {
		expect("SELECT CAST('12abc' AS SIGNED), 1/0", "12|<null>")
		got, err := query("SHOW WARNINGS")
		check(err)
		same(strings.Contains(got, "|1292|") && strings.Contains(got, "|1365|"), true)
	},
	"pipelining": func() { panic(skip("the driver waits for each reply")) },
	"cancel": func() {
		id, _ := query("SELECT CONNECTION_ID()")
		asleep := func(id string) {
			for n := 0; n == 0; time.Sleep(20 * time.Millisecond) {
				check(pool.QueryRow("SELECT COUNT(*) FROM " + processes + " WHERE id = " + id + " AND state = 'User sleep'").Scan(&n))
			}
		}
		begun, killed := time.Now(), make(chan error, 1)
		go func() { // on a second connection of the pool; the driver does not tell the id that it was given
			asleep(id)
			_, err := pool.Exec("KILL QUERY " + id)
			killed <- err
		}()
		// MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error.
		if got, err := query("SELECT SLEEP(30)"); err != nil {
			fails(err, 1317, "interrupted")
		} else {
			same(got, "1")
		}
		check(<-killed)
		same(time.Since(begun) < 20*time.Second, true)
		expect("SELECT 5", "5")
		// Its own means: a context that ends closes the socket.
		other, err := pool.Conn(ctx)
		check(err)
		var other_id string
		check(other.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&other_id))
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		begun = time.Now()
		_, err = other.ExecContext(short, "DO SLEEP(30)")
		same(errors.Is(err, context.DeadlineExceeded) && time.Since(begun) < 10*time.Second, true)
		_ = other.Close()
		pool.Exec("KILL " + other_id) // the server would sleep on; an error says that it is gone already
	},
	"wrong_password":   func() { fails(open("wrong", os.Getenv("TG_DATABASE")).Ping(), 1045, "Access denied") },
	"unknown_database": func() { fails(open(os.Getenv("TG_PASSWORD"), prefix+"_none").Ping(), 1049, "Unknown database") },
	"attributes":       func() { panic(skip("this version of the driver sends no attributes")) },
	"quit": func() {
		exec("DROP TABLE @_a, @_p, @_d")
		exec("DROP PROCEDURE @_two")
		id, _ := query("SELECT CONNECTION_ID()")
		check(conn.Close())
		check(pool.Close())
		pool = open(os.Getenv("TG_PASSWORD"), os.Getenv("TG_DATABASE"))
		alive := 1
		for i := 0; i < 250 && alive > 0; i++ {
			check(pool.QueryRow("SELECT COUNT(*) FROM " + processes + " WHERE id = " + id).Scan(&alive))
			time.Sleep(20 * time.Millisecond)
		}
		same(alive, 0)
	},
}

func main() {
	for _, name := range names {
		func() {
			defer func() {
				switch e := recover().(type) {
				case nil:
					fmt.Println("ok", name)
				case skip:
					fmt.Printf("skip %s: %s\n", name, string(e))
				default:
					fmt.Printf("FAIL %s: %v\n", name, e)
					os.Exit(1)
				}
			}()
			steps[name]()
		}()
	}
	fmt.Println("done")
}
