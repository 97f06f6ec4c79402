// Go's database/sql over go-sql-driver/mysql: it drops a connection on driver.ErrBadConn. Debian's version of the driver reads past the
// SQLSTATE of an error and does not show it: that is looked up in the bytes that the driver got.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var pool *sql.DB

// What came since something was last sent.
var received []byte

// A whole TCPConn, so that database/sql's look at an idle connection still works.
type tapped struct{ *net.TCPConn }

func (conn tapped) Read(into []byte) (int, error) {
	count, err := conn.TCPConn.Read(into)
	received = append(received, into[:count]...)
	return count, err
}

func (conn tapped) Write(from []byte) (int, error) {
	received = nil
	return conn.TCPConn.Write(from)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return tapped{conn.(*net.TCPConn)}, nil
}

func check(err error) {
	if err != nil {
		fmt.Println("FAIL:", err)
		os.Exit(1)
	}
}

func id() (id int64) {
	check(pool.QueryRow("SELECT CONNECTION_ID()").Scan(&id))
	return id
}

func refused(err error) {
	var told *mysql.MySQLError
	if !errors.As(err, &told) {
		check(fmt.Errorf("not refused: %v", err))
	}
	if told.Number != 1226 || !strings.Contains(told.Message, "[tollgate] rule=no-writes reason=ratio client=") {
		check(fmt.Errorf("%d %s", told.Number, told.Message))
	}
	// The length and the number of the packet, 0xFF, the code, and then it.
	if len(received) < 13 || !bytes.Equal(received[4:13], []byte("\xff\xca\x04#HY000")) {
		check(fmt.Errorf("no SQLSTATE HY000 in %q", received))
	}
}

func kept(first int64, step string) {
	if now := id(); now != first {
		check(fmt.Errorf("%s: connection %d became %d", step, first, now))
	}
	fmt.Println("ok", step)
}

func main() {
	env := os.Getenv
	var err error
	mysql.RegisterDialContext("tapped", dial)
	pool, err = sql.Open("mysql", fmt.Sprintf("%s:%s@tapped(%s:%s)/%s", env("TG_USER"), env("TG_PASSWORD"), env("TG_HOST"), env("TG_PORT"), env("TG_DATABASE")))
	check(err)
	pool.SetMaxOpenConns(1)
	first := id()
	_, err = pool.Exec("INSERT INTO " + env("TG_TABLE") + " (batch) VALUES (1)")
	refused(err)
	kept(first, "text")
	statement, err := pool.Prepare("INSERT INTO " + env("TG_TABLE") + " (batch) VALUES (?)")
	check(err)
	_, err = statement.Exec(1)
	refused(err)
	check(statement.Close())
	kept(first, "prepared")
	tx, err := pool.Begin()
	check(err)
	var count int
	check(tx.QueryRow("SELECT COUNT(*) FROM " + env("TG_TABLE")).Scan(&count))
	_, err = tx.Exec("INSERT INTO " + env("TG_TABLE") + " (batch) VALUES (1)")
	refused(err)
	check(tx.Rollback())
	kept(first, "transaction")
	kept(first, "same_connection")
	fmt.Println("done")
}
