# Read by the mysql image at the first start, when the data folder is new. Sourced or run, as the image likes: hence no
# `set`, no `exit`. The source is kept in the data folder, and followed by every start from then on.

# A string for SQL, in its quotes.
quoted() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\\\'}"
}

# The image's own first steps (time zones) are in this server's binary log; the primary knows nothing of them, so they are
# forgotten. Not super_read_only by a flag: the image could not set its root user then.
MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql --protocol=socket -uroot <<END
RESET BINARY LOGS AND GTIDS;
CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'primary', SOURCE_USER = 'repl',
  SOURCE_PASSWORD = $(quoted "$REPLICATION_PASSWORD"), SOURCE_AUTO_POSITION = 1, SOURCE_SSL = 1,
  SOURCE_CONNECT_RETRY = 2, SOURCE_RETRY_COUNT = 0;
SET PERSIST_ONLY super_read_only = ON;
END
