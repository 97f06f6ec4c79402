# Read by the mysql image at the first start, when the data folder is new. Sourced or run, as the image likes: hence no
# `set`, no `exit`. All of it goes into the binary log, so the replica has the same accounts.

# A string for SQL, in its quotes.
quoted() {
  local text=${1//\\/\\\\}
  printf "'%s'" "${text//\'/\\\'}"
}

MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql --protocol=socket -uroot <<END
CREATE USER tollgate@'%' IDENTIFIED BY $(quoted "$TOLLGATE_PROBE_PASSWORD");
GRANT CONNECTION_ADMIN ON *.* TO tollgate@'%';
CREATE USER repl@'%' IDENTIFIED BY $(quoted "$REPLICATION_PASSWORD");
GRANT REPLICATION SLAVE ON *.* TO repl@'%';

-- For trying things: the accounts of the sandbox, with passwords that everybody knows.
CREATE USER app@'%' IDENTIFIED BY 'app-pw';
GRANT ALL ON *.* TO app@'%' WITH GRANT OPTION;
CREATE USER etl@'%' IDENTIFIED BY 'etl-pw';
GRANT ALL ON *.* TO etl@'%';
-- With it, which ALL includes, tollgate could not end their statements without having it too.
REVOKE SYSTEM_USER ON *.* FROM app@'%', etl@'%';
CREATE USER monitor@'%' IDENTIFIED BY 'monitor-pw';
GRANT REPLICATION CLIENT, PROCESS ON *.* TO monitor@'%';
GRANT SELECT ON performance_schema.* TO monitor@'%';
END
