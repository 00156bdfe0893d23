#!/bin/sh
# The namespace of Treadle, with 30 days of closed executions, and the attributes by which executions are found.
# With TEMPORAL_ADDRESS set, Treadle itself changes nothing in Temporal, so this does. Repeated, it changes nothing.
set -eu
namespace=$TEMPORAL_NAMESPACE
temporal operator namespace describe --namespace "$namespace" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$namespace" --retention 720h --description "Executions of Treadle"

# A new namespace is known everywhere after some seconds.
tries=0
until temporal operator search-attribute list --namespace "$namespace" >/tmp/attributes 2>/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || { echo "The namespace $namespace did not appear within a minute." >&2; exit 1; }
  sleep 1
done
for attribute in TreadleWorkflow TreadleCommit TreadleTrigger TreadleAccount; do
  grep -qw "$attribute" /tmp/attributes ||
    temporal operator search-attribute create --namespace "$namespace" --name "$attribute" --type Keyword
done
