#pragma once
// Debian 12 ships Catch2 2.13; this is the one place that knows.
#include <catch2/catch.hpp>
