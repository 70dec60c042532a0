#include "import/kineto_text.h"

#include "import/kineto_names.h"
#include "support/catch.h"

namespace ws::kineto {
namespace {

Token token(std::string_view s, Token::Kind kind = Token::Kind::word) {
  Token t;
  t.data = s.data(), t.size = s.size(), t.kind = kind;
  t.escaped = s.find('\\') != std::string_view::npos;
  return t;
}

struct TimeRow {
  const char* text;
  std::optional<TimeNs> ns;
  bool finer;
};

}  // namespace

TEST_CASE("decimal microseconds become whole nanoseconds, never through double") {
  constexpr auto kNone = std::nullopt;
  const TimeRow rows[] = {
      {"0", 0, false},
      {"1", 1000, false},
      {"12.0", 12000, false},
      {"12.00", 12000, true},
      {"12.3", 12300, true},
      {"12.34", 12340, true},
      {"12.345", 12345, true},
      {"12.3459", 12345, true},
      {"0.0009", 0, true},
      {"-5.000", -5000, true},
      {"-0.001", -1, true},
      {"1764432123456790.014", 1764432123456790014, true},
      {"1606910596297023", 1606910596297023000, false},
      {"4611686018427387.903", 4611686018427387903, true},
      {"4611686018427387.904", kNone, true},
      {"-1764000000000000.000", -1764000000000000000, true},
      {"9999999999999999999999", kNone, false},
      {"1e3", 1000000, false},
      {"1.5e2", 150000, true},
      {"1.2345e-1", 123, true},
      {"25E-4", 2, false},
      {"1.5e-4", 0, true},
      {"-2.5e+1", -25000, true},
      {"0e99", 0, false},
      {"1e99", kNone, false},
      {"1e-999", 0, false},
      {"1e99999", kNone, false},
      {"1e", kNone, false},
      {"", kNone, false},
      {"-", kNone, false},
      {"abc", kNone, false},
      {"inf", kNone, false},
      {"12x", kNone, false},
      {"12.x", kNone, false},
      {"0x10", kNone, false},
      {"1.2.3", kNone, true},
  };
  for (const TimeRow& row : rows) {
    bool finer = false;
    INFO(row.text);
    CHECK(ns_from_us(row.text, &finer) == row.ns);
    CHECK(finer == row.finer);
  }
}

TEST_CASE("whole numbers may be words or the end of a string") {
  const auto word = [](std::string_view s) { return whole_number(token(s)); };
  const auto string = [](std::string_view s) {
    return whole_number(token(s, Token::Kind::string));
  };
  CHECK(word("41000") == 41000);
  CHECK(word("-1") == -1);
  CHECK(word("7.0") == 7);
  CHECK(word("18446744073709551615") == -1);  // an unsigned thread id
  CHECK(word("18446744073709551616") == std::nullopt);
  CHECK(word("340282366920938463463374607431768211455") == std::nullopt);
  CHECK(word("-9223372036854775808") == INT64_MIN);
  CHECK(word("-9223372036854775809") == std::nullopt);
  CHECK(word("null") == std::nullopt);
  CHECK(word("12a") == std::nullopt);
  CHECK(word("") == std::nullopt);
  CHECK(string("4093687616") == 4093687616);
  CHECK(string("stream 7") == 7);
  CHECK(string("-1") == -1);
  CHECK(string("a-1") == 1);
  CHECK(string("Spans") == std::nullopt);
  CHECK(string("") == std::nullopt);
  CHECK(whole_number(token("[7]", Token::Kind::container)) == std::nullopt);
}

TEST_CASE("lists of ranks are whole or nothing") {
  CHECK(number_list("[0, 1, 2]") == std::vector<int64_t>{0, 1, 2});
  CHECK(number_list("4,5") == std::vector<int64_t>{4, 5});
  CHECK(number_list(" [ 7 ] ") == std::vector<int64_t>{7});
  CHECK(number_list("[]") == std::vector<int64_t>{});
  CHECK(number_list("[0, 1, ..., 127]") == std::nullopt);
  CHECK(number_list("[0,,1]") == std::nullopt);
  CHECK(number_list("[a]") == std::nullopt);
}

TEST_CASE("strings are unescaped, and what is wrong in them is repaired and said") {
  struct Row {
    std::string_view raw, text;
    bool repaired;
  };
  using namespace std::string_view_literals;
  const Row rows[] = {
      {"plain"sv, "plain"sv, false},
      {R"(a\"b\\c\/d)"sv, R"(a"b\c/d)"sv, false},
      {R"(\n\t\r\b\f)"sv, "\n\t\r\b\f"sv, false},
      {R"(\u00e9\u20AC)"sv, "\xc3\xa9\xe2\x82\xac"sv, false},
      {R"(\ud83d\ude00)"sv, "\xf0\x9f\x98\x80"sv, false},
      {R"(\ud83dx)"sv, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx"sv, true},
      {R"(\u12)"sv, R"(\u12)"sv, true},
      {R"(trainer\data\__l.py)"sv, R"(trainer\data\__l.py)"sv, true},
      {"raw\nnewline"sv, "raw\nnewline"sv, true},
      {"bad\xff"sv, "bad\xef\xbf\xbd"sv, true},
      {R"(nul\u0000)"sv, "nul"sv, true},
      {"\xe6\xa2\xaf"sv, "\xe6\xa2\xaf"sv, false},
  };
  for (const Row& row : rows) {
    bool repaired = false;
    INFO(row.raw);
    CHECK(unescaped(token(row.raw, Token::Kind::string), &repaired) == row.text);
    CHECK(repaired == row.repaired);
  }
}

TEST_CASE("ranks stand in file names in many ways, times and sizes do not count") {
  struct Row {
    const char* path;
    std::optional<int32_t> rank;
  };
  const Row rows[] = {
      {"a/rank12.json", 12},
      {"rank_12.pt.trace.json.gz", 12},
      {"sampled_rank-0.json.gz", 0},
      {"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34},
      {"worker3.1623143089861.pt.trace.json", 3},
      {"resnet50_2021h1_w7.json.gz", 7},
      {"Rank5.json", 5},
      {"run_rank65535.json", 65535},
      {"megatron_kineto_3.json.gz", 3},
      {"7.json", 7},
      {"trace-127.pt.trace.json.gz", 127},
      {"rank3/trace.json", std::nullopt},
      {"nesting_1500.json", std::nullopt},
      {"integers_int64.json", std::nullopt},
      {"node1_4711.1623143089861.pt.trace.json", std::nullopt},
      {"frank7x.json", std::nullopt},
      {"trace.json", std::nullopt},
      {"rank.json", std::nullopt},
      {"rank1234567.json", std::nullopt},
      {"", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.path);
    CHECK(rank_in_file_name(row.path) == row.rank);
  }
}

TEST_CASE("categories of all years") {
  for (const char* s : {"kernel", "Kernel"}) CHECK(category_of(s) == Category::kernel);
  for (const char* s : {"cpu_op", "Operator"}) CHECK(category_of(s) == Category::cpu_op);
  for (const char* s : {"gpu_memcpy", "Memcpy"}) CHECK(category_of(s) == Category::copy);
  for (const char* s : {"gpu_memset", "Memset"}) CHECK(category_of(s) == Category::memset);
  for (const char* s : {"cuda_runtime", "cuda_driver", "Runtime", "xpu_runtime"}) {
    CHECK(category_of(s) == Category::call);
  }
  CHECK(category_of("cuda_sync") == Category::sync);
  CHECK(category_of("overhead") == Category::overhead);
  CHECK(category_of("python_function") == Category::python);
  CHECK(category_of("gpu_user_annotation") == Category::gpu_annotation);
  CHECK(category_of("mtia_runtime") == Category::accelerator);
  for (const char* s : {"ac2g", "fwdbwd", "Trace", "async_cpu_to_gpu", "critical_path", ""}) {
    CHECK(category_of(s) == Category::other);
  }
}

TEST_CASE("copies, synchronisation, calls and python functions by name") {
  CHECK(copy_kind("Memcpy HtoD (Pageable -> Device)", "") == OpKind::h2d);
  CHECK(copy_kind("Memcpy DtoH (Device -> Pinned)", "") == OpKind::d2h);
  CHECK(copy_kind("Memcpy DtoD (Device -> Device)", "") == OpKind::d2d);
  CHECK(copy_kind("Memcpy PtoP (Device -> Device)", "") == OpKind::p2p);
  CHECK(copy_kind("CopyHostToDevice", "") == OpKind::h2d);
  CHECK(copy_kind("CopyDeviceToHost", "") == OpKind::d2h);
  CHECK(copy_kind("Memcpy", "DtoH") == OpKind::d2h);
  CHECK(copy_kind("Memcpy", "") == OpKind::d2d);
  CHECK(is_pageable("Memcpy HtoD (Pageable -> Device)"));
  CHECK_FALSE(is_pageable("Memcpy HtoD (Pinned -> Device)"));
  CHECK(is_pinned("Memcpy HtoD (Pinned -> Device)"));
  CHECK(is_pinned("Memcpy DtoH (Device -> Pinned)"));
  CHECK_FALSE(is_pinned("Memcpy HtoD (Pageable -> Device)"));
  CHECK_FALSE(is_pinned("Memcpy HtoH (Pinned -> Pageable)"));
  CHECK_FALSE(is_pinned("CopyHostToDevice"));
  CHECK(sync_kind("Stream Wait Event") == SyncKind::stream_wait);
  CHECK(sync_kind("Event Sync") == SyncKind::event);
  CHECK(sync_kind("Stream Sync") == SyncKind::stream);
  CHECK(sync_kind("Context Sync") == SyncKind::context);
  CHECK(sync_kind("?") == SyncKind::unknown);
  CHECK(api_name("cudaStreamGetCaptureInfo_v2") == "cudaStreamGetCaptureInfo");
  CHECK(api_name("cudaLaunchKernel_ptsz") == "cudaLaunchKernel");
  CHECK(api_name("cuMemcpyHtoDAsync_v2_ptsz") == "cuMemcpyHtoDAsync");
  CHECK(api_name("hipGetDevicePropertiesR0600") == "hipGetDevicePropertiesR0600");
  CHECK(api_name("_v2") == "_v2");
  CHECK(is_graph_launch("cudaGraphLaunch"));
  CHECK(is_graph_launch("hipGraphLaunch"));
  CHECK_FALSE(is_graph_launch("cudaLaunchKernel"));
  for (const char* s :
       {"gc", "gc.collect", "gc.py: collect generation 2", "<built-in function collect>",
        "enumerate(DataLoader)#_next", "torch/utils/data/dataloader.py(630): __next__",
        "torch._dynamo: compile", "torch/_dynamo/convert_frame.py(90): _compile",
        "torch/utils/checkpoint.py(1500): recompute_fn"}) {
    INFO(s);
    CHECK(is_wanted_python(s));
  }
  for (const char* s : {"scheduler.py(163): maybe_collect_customized_info",
                        "_collections_abc.py(821): get", "threading.py(973): _bootstrap",
                        "<built-in method append of collections.deque object at 0x7f>",
                        "torch/_dynamo/eval_frame.py(838): compile_wrapper", "re.py(250): compile",
                        "trainer.py(3): step", "metrics.py(7): recompute",
                        "torch/utils/checkpoint.py(1101): pack_hook"}) {
    INFO(s);
    CHECK_FALSE(is_wanted_python(s));
  }
}

}  // namespace ws::kineto
