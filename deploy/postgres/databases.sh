#!/bin/sh
# Run once by the PostgreSQL image, on an empty volume: each program gets its own role, which owns its own databases only.
set -eu
make_role() {
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" -v "name=$1" -v "password=$2" <<'SQL'
create role :"name" login password :'password';
SQL
}
make_database() {
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" -v "name=$1" -v "owner=$2" <<'SQL'
create database :"name" owner :"owner";
revoke connect on database :"name" from public;
SQL
}
make_role treadle "$TREADLE_DATABASE_PASSWORD"
make_role temporal "$TEMPORAL_DATABASE_PASSWORD"
make_database treadle treadle
make_database temporal temporal
make_database temporal_visibility temporal
