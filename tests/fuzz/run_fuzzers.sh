#!/bin/sh
# run_fuzzers.sh BUILD_DIR SECONDS: every fuzz target for SECONDS, seeds from the samples, cases and rules.
# What a target finds is left in BUILD_DIR/found; new inputs are kept in BUILD_DIR/corpus for the next run.
set -eu
build="$1"
seconds="$2"
mkdir -p "$build/found"

seed() {  # seed TARGET FILE...
  mkdir -p "$build/corpus/$1"
  corpus="$build/corpus/$1"
  shift
  for file in "$@"; do
    [ -f "$file" ] && cp -n "$file" "$corpus/$(echo "$file" | tr '/' '_')"
  done
  return 0
}
seed kineto_fuzz tests/cases/k*.json tests/cases/b16*/*.gz samples/kineto/healthy/*.gz samples/kineto/exposed_all_to_all/rank0*.gz
seed nsys_fuzz tests/cases/n*.sqlite samples/nsys/healthy/*.sqlite samples/nsys/exposed_all_to_all/rank0*.sqlite
seed recording_fuzz samples/recording/*/*.wst
for file in samples/recording/*/*.wst; do  # and their first bodies, which the target puts into frames
  tail -c +33 "$file" > "$build/corpus/recording_fuzz/body_$(echo "$file" | tr '/' '_')"
done
seed rule_fuzz rules/*/*.json
seed config_fuzz samples/config/*

status=0
for target in kineto_fuzz nsys_fuzz partial_fuzz recording_fuzz rule_fuzz config_fuzz; do
  echo "== $target, $seconds s"
  log="$build/found/$target.log"
  if "$build/bin/$target" "$build/corpus/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=300000 \
      -artifact_prefix="$build/found/$target-" -print_final_stats=1 >"$log" 2>&1; then
    grep -E 'number_of_executed_units|new_units_added' "$log"
  else
    tail -40 "$log"
    status=1
  fi
done
exit $status
