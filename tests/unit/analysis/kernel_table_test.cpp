// What a table of kernel names may say, and what its words mean.
#include <cstdio>
#include <fstream>
#include <string>

#include "analysis/kernel_classes.h"
#include "support/catch.h"

using namespace ws;

namespace {

Result<KernelClasses> load_text(const std::string& text) {
  const std::string path = "kernel_table_test.json";
  std::ofstream(path) << text;
  auto result = KernelClasses::load(path);
  std::remove(path.c_str());
  return result;
}

}  // namespace

TEST_CASE("kernel table: faults are named with their place") {
  const auto error_of = [](const std::string& row) {
    const auto r = load_text("{\"rows\": [" + row + "]}");
    return r ? std::string("loaded") : r.error().message;
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(KernelClasses::load("no_such_file.json").error().message,
             Contains("cannot be opened"));
  CHECK_THAT(load_text("{\"rows\": 3").error().message, Contains("an object with an array 'rows'"));
  const std::string ok = R"({"family":"a","class":"gemm","match":["x"],"seen":"here"})";
  CHECK(error_of(ok) == "loaded");
  CHECK_THAT(error_of("7"), Contains("rows[0].an object was expected"));
  CHECK_THAT(error_of(R"({"class":"gemm","match":["x"],"seen":"s"})"), Contains("family"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["x"]})"), Contains("seen"));
  CHECK_THAT(error_of(R"({"family":"a","class":"h2d","match":["x"],"seen":"s"})"),
             Contains("unknown class 'h2d'"));
  CHECK_THAT(error_of(ok + R"(,{"family":"a","class":"gemm","match":[],"seen":"s"})"),
             Contains("rows[1].match"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["!x"],"seen":"s"})"),
             Contains("no word to find"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["x  y"],"seen":"s"})"),
             Contains("empty word"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["x"],"seen":"s","flags":["q"]})"),
             Contains("unknown flag"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["x"],"seen":"s","kind":"ep"})"),
             Contains("kind"));
  CHECK_THAT(
      error_of(R"({"family":"a","class":"gemm","match":["x"],"seen":"s","collective":"reduce"})"),
      Contains("collective"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["x"],"seen":"s","pass":"both"})"),
             Contains("pass"));
  CHECK_THAT(error_of(R"({"family":"a","class":"gemm","match":["x"],"seen":"s","clas":1})"),
             Contains("unknown key 'clas'"));
}

TEST_CASE("kernel table: what the places of words mean") {
  const auto k = load_text(R"({"rows": [
    {"family":"start","class":"gemm","match":["^dispatch"],"seen":"s"},
    {"family":"end","class":"gemm","match":["fwd_kernel$"],"seen":"s"},
    {"family":"outside","class":"gemm","match":["@gem !conv"],"seen":"s"},
    {"family":"both","class":"gemm","match":["alpha beta"],"seen":"s"}]})");
  REQUIRE(k);
  const auto family = [&](std::string_view name) { return std::string(k->classify(name).family); };
  CHECK(family("ns::Dispatch_kernel<4>(int)") == "start");
  CHECK(family("_ZN2ns8dispatchEv") == "start");
  CHECK(family("predispatch") == "unclassified");
  CHECK(family("f<ns::dispatch>") == "unclassified");
  CHECK(family("x_fwd_kernel<int>(int)") == "end");
  CHECK(family("x_fwd_kernel2") == "unclassified");
  CHECK(family("sgemm(int)") == "outside");
  CHECK(family("f<gemm>()") == "unclassified");
  CHECK(family("gemm_conv") == "unclassified");
  CHECK(family("f<beta, alpha>(int)") == "both");
  CHECK(family("f(alpha, beta)") == "unclassified");  // arguments are cut off
}
