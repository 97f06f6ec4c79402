# Sourced by the programs that drive MySQL's own command-line tools: where they are, and how they connect.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
set -u
bin=${TG_MYSQL_BIN:-}
if [ -z "$bin" ] && command -v mysql >/dev/null && ! mysql --version | grep -qi mariadb; then bin=$(dirname "$(command -v mysql)"); fi
[ -n "$bin" ] || bin=$cache/mysql/bin
# program NAME: the path of one of the tools, or exit 77.
program() { [ -x "$bin/$1" ] || missing "MySQL's $1"; }
export MYSQL_PWD=$TG_PASSWORD # shorter than an option file, and no warning
# MariaDB asks for mysql_native_password, which is a plugin that MySQL's programs load since 9.0.
if [ -z "${LIBMYSQL_PLUGIN_DIR:-}" ] && [ -d "$cache/mysql/root/usr/lib/mysql/plugin" ]; then export LIBMYSQL_PLUGIN_DIR=$cache/mysql/root/usr/lib/mysql/plugin; fi
# Without TLS a cold caching_sha2_password cache needs --get-server-public-key.
connection=(--no-defaults --user="$TG_USER")
if [ -n "$TG_SOCKET" ]; then connection+=(--socket="$TG_SOCKET"); else connection+=(--protocol=tcp --host="$TG_HOST" --port="$TG_PORT"); fi
if [ "$TG_TLS" = on ]; then connection+=(--ssl-mode=REQUIRED); else connection+=(--ssl-mode=DISABLED --get-server-public-key); fi
T=$TG_TABLE
TEXT='naïve 日本 🐬'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# SET NAMES: MariaDB 10.11 does not know the collation that a MySQL client asks for with utf8mb4, and takes latin1.
# --commands: since 9.4 `status` and `resetconnection` must be asked for; --loose: an older client does not know the option.
sql() { "$bin/mysql" "${connection[@]}" --loose-commands --default-character-set=utf8mb4 --init-command='SET NAMES utf8mb4' --max-allowed-packet=64M "$TG_DATABASE" "$@"; }
query() { sql --batch --skip-column-names --execute="$1"; }
ok() { echo "ok $step"; }
skip() { echo "skip $1: $2"; }
fail() { echo "FAIL $step: $*"; exit 1; }
same() { [ "$1" = "$2" ] || fail "got '${1:0:400}', expected '${2:0:400}'"; }
