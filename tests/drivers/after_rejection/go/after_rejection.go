// Go's database/sql over go-sql-driver/mysql: it drops a connection on driver.ErrBadConn.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var pool *sql.DB

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
	pool, err = sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s:%s)/%s", env("TG_USER"), env("TG_PASSWORD"), env("TG_HOST"), env("TG_PORT"), env("TG_DATABASE")))
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
