#include "collector/options.h"

#include <cstdlib>

#include "support/catch.h"

using namespace ws::collector;

namespace {

// An environment variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

bool has_setting(const ProcessRow& p, std::string_view name) {
  for (const auto& [known, value] : p.settings) {
    if (known == name) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("lists of ranks") {
  CHECK(list_holds("0,3-5", 0));
  CHECK(list_holds("0,3-5", 4));
  CHECK_FALSE(list_holds("0,3-5", 2));
  CHECK_FALSE(list_holds("7", 0));
  CHECK(list_holds("", 5));     // no list
  CHECK(list_holds("all", 5));  // not a list: better too much than nothing
}

TEST_CASE("choices of steps") {
  CHECK(parse_steps("3:7") == std::pair<int64_t, int64_t>{3, 7});
  CHECK(parse_steps("5") == std::pair<int64_t, int64_t>{5, 5});
  for (const char* bad : {"", "7:3", "a:b", "-1:3", "3:", ":4", "1:2:3"})
    CHECK_FALSE(parse_steps(bad));
}

TEST_CASE("options come from the environment, with defaults") {
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    ::unsetenv(name);
  ProcessRow process;
  Options o = read_options(process);
  CHECK(o.folder.empty());
  CHECK(o.tier == Tier::host);
  CHECK(o.buffer_count == 64);
  CHECK(o.file_cap_bytes == uint64_t{4} << 30);
  CHECK(o.first_step == -1);
  const Variable folder("WALLSIGHT_DIR", "/x"), tier("WALLSIGHT_TIER", "device"),
      delay("WALLSIGHT_DELAY_MS", "1500"), steps("WALLSIGHT_STEPS", "4:6"),
      cap("WALLSIGHT_MAX_FILE_MB", "0"), memory("WALLSIGHT_MAX_MEMORY_MB", "12"),
      ranks("WALLSIGHT_RANKS", "1");
  o = read_options(process);
  CHECK(o.folder == "/x");
  CHECK(o.tier == Tier::device);
  CHECK(o.delay_ms == 1500);
  CHECK(o.first_step == -1);  // no name of a range
  CHECK(o.file_cap_bytes == uint64_t{1} << 20);
  CHECK(o.buffer_count == 8);
  CHECK(o.rank_chosen);  // a process without a rank can not be chosen by it
  const Variable range("WALLSIGHT_STEP_RANGE", "iteration");
  process.rank = 0;
  o = read_options(process);
  CHECK(o.first_step == 4);
  CHECK(o.last_step == 6);
  CHECK_FALSE(o.rank_chosen);
}

TEST_CASE("the rank is that of the surest launcher, secrets stay out") {
  const Variable slurm("SLURM_PROCID", "9"), slurm_world("SLURM_NTASKS", "16");
  CHECK(describe_process().rank == 9);
  CHECK(describe_process().world_size == 16);
  const Variable rank("RANK", "3"), world("WORLD_SIZE", "8"), nccl("NCCL_ALGO", "Ring"),
      secret("NCCL_MY_TOKEN", "hunter2"), key("CUDA_API_KEY", "hunter2"), other("HOME_PAGE", "x"),
      injection("CUDA_INJECTION64_PATH", "x"), home("CUDA_HOME", "/home/me/cuda");
  const ProcessRow p = describe_process();
  CHECK(p.rank == 3);
  CHECK(p.world_size == 8);
  CHECK(has_setting(p, "NCCL_ALGO"));
  for (const char* name :
       {"NCCL_MY_TOKEN", "CUDA_API_KEY", "HOME_PAGE", "CUDA_INJECTION64_PATH", "CUDA_HOME"})
    CHECK_FALSE(has_setting(p, name));
  CHECK_FALSE(p.arguments.empty());
}

TEST_CASE("names of files are plain") {
  ProcessRow p;
  p.host = "node 1/..\n";
  p.pid = 42;
  p.start_realtime_ns = 1'700'000'000'123'456'789;
  CHECK(file_name_of(p) == "node-1----.x.42.1700000000123.wst");
  p.rank = 7;
  p.host.clear();
  CHECK(file_name_of(p) == "host.7.42.1700000000123.wst");
}
