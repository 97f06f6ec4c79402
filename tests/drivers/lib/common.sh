# Sourced by every run script: where things are, and defaults that make a program runnable by hand.
drivers=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tollgate/drivers
export TG_HOST=${TG_HOST:-127.0.0.1} TG_PORT=${TG_PORT:-3306} TG_USER=${TG_USER:-root} TG_PASSWORD=${TG_PASSWORD:-}
export TG_DATABASE=${TG_DATABASE:-test} TG_TLS=${TG_TLS:-off} TG_FLAVOR=${TG_FLAVOR:-mysql} TG_SOCKET=${TG_SOCKET:-} TG_TABLE=${TG_TABLE:-tg_$$}

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
