#!/bin/sh
# check_glibc.sh BINARY...: fails when a binary needs a glibc symbol newer than 2.34 (Ubuntu 22.04 has 2.35).
set -eu
status=0
for binary in "$@"; do
  versions=$(objdump -T "$binary" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu)
  newest=$(echo "$versions" | tail -1)
  if [ -z "$newest" ]; then
    echo "$binary: no glibc symbols found; is it a dynamic executable?" >&2
    status=1
  elif [ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -1)" != 2.34 ]; then
    echo "$binary: needs GLIBC_$newest:" >&2
    objdump -T "$binary" | grep -F "GLIBC_$newest" >&2
    status=1
  else
    echo "$binary: newest glibc symbol version is $newest"
  fi
done
exit $status
