#!/bin/sh
# Cross-builds the program for aarch64 into build/arm: check_arm.sh JOBS. The arm64 libraries are fetched
# with a private apt state and unpacked below build/arm/root: the system's own apt is left as it is.
# With qemu-aarch64 on PATH the result also analyzes a sample, whose report must equal the host's.
set -eu
cd "$(dirname "$0")/.."
jobs="${1:-2}"
arm="$PWD/build/arm"
root="$arm/root"
libraries="libsqlite3-dev libsqlite3-0 libfmt-dev libfmt9 libsimdjson-dev libsimdjson14 libisal-dev libisal2
           zlib1g-dev zlib1g nlohmann-json3-dev libcli11-dev libzstd-dev libzstd1 libprotozero-dev
           libyaml-cpp-dev libyaml-cpp0.7"

if [ ! -e "$arm/fetched" ]; then
  mkdir -p "$arm/apt/lists/partial" "$arm/apt/cache/archives/partial" "$arm/deb" "$root"
  : > "$arm/apt/status"
  options="-q -o Dir::State=$arm/apt -o Dir::State::status=$arm/apt/status -o Dir::State::lists=$arm/apt/lists
           -o Dir::Cache=$arm/apt/cache -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root"
  # shellcheck disable=SC2086  # lists of words on purpose
  (apt-get $options update && cd "$arm/deb" && apt-get $options download $libraries)
  for package in "$arm"/deb/*.deb; do dpkg-deb -x "$package" "$root"; done
  touch "$arm/fetched"
fi

cmake -S . -B "$arm/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWALLSIGHT_TESTS=OFF -DWALLSIGHT_WERROR=ON \
  -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DWALLSIGHT_ARM_ROOT="$root"
cmake --build "$arm/build" -j "$jobs"

if command -v qemu-aarch64 >/dev/null && [ -x build/release/bin/wallsight ]; then
  sample=samples/kineto/healthy/trace.json.gz
  qemu-aarch64 -L /usr/aarch64-linux-gnu \
    -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu" -E WALLSIGHT_DATA="$PWD" \
    "$arm/build/bin/wallsight" analyze "$sample" > "$arm/report.arm"
  build/release/bin/wallsight analyze "$sample" > "$arm/report.host"
  cmp "$arm/report.arm" "$arm/report.host"
  echo "aarch64: the report of $sample equals the host's"
fi
