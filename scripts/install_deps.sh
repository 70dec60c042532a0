#!/bin/sh
# Installs the Debian packages that are missing for a purpose: build (default), check, fuzz, arm.
# Does nothing when all are there; without root or sudo it prints the command to run and fails.
set -eu

build="g++ cmake ninja-build python3 python3-jsonschema catch2 libsqlite3-dev libfmt-dev nlohmann-json3-dev
       libsimdjson-dev libisal-dev zlib1g-dev libcli11-dev libzstd-dev libprotozero-dev libprotobuf-dev
       protobuf-compiler libyaml-cpp-dev"
case "${1:-build}" in
  build) wanted="$build" ;;
  check) wanted="$build clang clang-format clang-tidy" ;;
  fuzz) wanted="$build clang" ;;
  deb) wanted="$build dpkg-dev file" ;;
  arm) wanted="$build g++-aarch64-linux-gnu" ;;
  *) echo "install_deps.sh: unknown purpose '$1'; one of build check fuzz deb arm" >&2; exit 3 ;;
esac

missing=""
for package in $wanted; do
  case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)" in
    *" installed") ;;
    *) missing="$missing $package" ;;
  esac
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif sudo -n true 2>/dev/null; then
  as_root="sudo"
else
  echo "install_deps.sh: packages are missing; run as root: apt-get install$missing" >&2
  exit 2
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -q
# shellcheck disable=SC2086  # a list of words on purpose
$as_root apt-get install -q -y --no-install-recommends $missing
