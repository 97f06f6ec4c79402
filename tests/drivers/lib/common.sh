# Sourced by every run script: where things are, and defaults that make a program runnable by hand.
drivers=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tollgate/drivers
export TG_HOST=${TG_HOST:-127.0.0.1} TG_PORT=${TG_PORT:-3306} TG_USER=${TG_USER:-root} TG_PASSWORD=${TG_PASSWORD:-}
export TG_DATABASE=${TG_DATABASE:-test} TG_TLS=${TG_TLS:-off} TG_FLAVOR=${TG_FLAVOR:-mysql} TG_SOCKET=${TG_SOCKET:-} TG_TABLE=${TG_TABLE:-tg_$$}
export TG_LARGE_BYTES=${TG_LARGE_BYTES:-$((20 << 20))}
# MySQL's information_schema.processlist fails with 3854 while any session runs a statement with bytes outside utf8mb3, as other
# drivers do at the same time. MariaDB has no other.
case $TG_FLAVOR in mariadb) TG_PROCESSLIST=information_schema.processlist ;; *) TG_PROCESSLIST=performance_schema.processlist ;; esac
export TG_PROCESSLIST

# missing WHAT: the runtime is not here. Exit code 77 is "skipped" to every test harness that knows the automake convention.
missing() { echo "missing: $1 (tests/drivers/install gets it)"; exit 77; }
installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -q '^installed$' || missing "Debian package $1"; }

# build OUTPUT SOURCE COMMAND…: runs COMMAND, which writes to $built, when OUTPUT is older than SOURCE. Runs in parallel do not
# see each other's half-written files.
build() {
  local output=$1 source=$2; shift 2
  [ "$output" -nt "$source" ] && return
  mkdir -p "$(dirname "$output")"
  built=$output.$$
  "$@" || { echo "FAIL build: $*"; exit 1; }
  mv "$built" "$output"
}
