#!/bin/sh
# install_check.sh BUILD_DIR SAMPLE: an installed program finds its rules, from any prefix and any working directory.
set -eu
build="$1"
sample="$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/a place" >/dev/null
cd "$work"
"$work/a place/bin/wallsight" rules list > listed
"$work/a place/bin/wallsight" analyze "$sample" > report
grep -q VERDICT report
[ "$(wc -l < listed)" -gt 10 ]
"$work/a place/bin/wallsight" rules check "$work/a place/share/wallsight/rules" > checked
grep -q "no problems" checked
[ -f "$work/a place/share/wallsight/rules/kernel_classes.json" ]
[ -f "$work/a place/share/wallsight/schemas/facts.sql" ]
mv "$work/a place" "$work/moved"
"$work/moved/bin/wallsight" analyze "$sample" | cmp - report
ln -s "$work/moved/bin/wallsight" "$work/linked"
"$work/linked" analyze "$sample" | cmp - report
"$work/linked" record -o "$work/recorded" -- sh -c 'test -f "$NVTX_INJECTION64_PATH"' 2>/dev/null
echo "installed program: report and $(wc -l < listed) lines of rules, moved and linked"
