#!/bin/sh
# Brings both of Temporal's databases to the schema of this image's version. Repeated, it does nothing; run it before a
# newer server starts, one minor version at a time.
set -eu
for name in temporal visibility; do
  database=$([ "$name" = temporal ] && echo temporal || echo temporal_visibility)
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-name "postgresql/v12/$name"
done
