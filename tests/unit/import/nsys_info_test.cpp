#include "import/nsys_info.h"

#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {
constexpr const char* kUuidA = "aaaaaaaa-0000-0000-0000-000000000001";
constexpr const char* kUuidB = "bbbbbbbb-0000-0000-0000-000000000002";

nsys::Info info_of(NsysFile& file) {
  const Result<nsys::File> opened = nsys::File::open(file.finish());
  REQUIRE(opened.has_value());
  Result<nsys::Info> info = nsys::read_info(*opened);
  REQUIRE(info.has_value());
  return std::move(*info);
}
}  // namespace

TEST_CASE("versions are read from either metadata table") {
  NsysFile file;
  const nsys::Info now = info_of(file);
  CHECK(now.tool_version == "2026.2.1 (schema 3.25.0)");
  CHECK_FALSE(now.schema_newer);
  NsysFile old(NsysLayout::old);
  CHECK(info_of(old).tool_version == "unknown (schema unknown)");
  NsysFile middle(NsysLayout::old);
  middle.sql("CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT)");
  middle.sql(
      "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_PRODUCT_VERSION','2022.4.2.1'),"
      "('EXPORT_SCHEMA_VERSION','3.0.0')");
  CHECK(info_of(middle).tool_version == "2022.4.2 (schema 3.0.0)");
  for (const char* version : {"3.28.0", "4.0.0", "4.1.9", "10.0.0"}) {
    NsysFile newer;
    newer.sql(std::string("UPDATE META_DATA_EXPORT SET value='") + version +
              "' WHERE name='EXPORT_SCHEMA_VERSION'");
    CHECK(info_of(newer).schema_newer);
  }
}

TEST_CASE("a CUDA ordinal is found through the process's own numbering, never by row") {
  NsysFile file;
  file.add_gpu(1, 0, "second row first", kUuidB);
  file.add_gpu(0, 1, "first row second", kUuidA);
  file.add_visible_gpu(50, 0, 0, kUuidA);  // CUDA_VISIBLE_DEVICES=1
  file.add_visible_gpu(51, 0, 1, "");      // 2025.1: no uuid in this table
  const nsys::Info info = info_of(file);
  CHECK(nsys::find_device(info, 50, 0).uuid == kUuidA);
  CHECK(nsys::find_device(info, 50, 0).name == "first row second");
  CHECK(nsys::find_device(info, 51, 0).uuid == kUuidB);
  CHECK(nsys::find_device(info, 52, 0).uuid == kUuidB);  // no map: cuDevice
  CHECK(nsys::find_device(info, 52, 1).sm_count == 100);
  CHECK(nsys::find_device(info, 52, 1).ordinal == 1);
  CHECK(nsys::find_device(info, 52, 7).name == "");
  CHECK(nsys::physical_gpu(info, 50, 0) == kUuidA);
  CHECK(nsys::physical_gpu(info, 51, 0) == "gpu 1");
  CHECK(nsys::physical_gpu(info, 52, 0) == "");
}

TEST_CASE("software adapters, zero uuids and old device tables") {
  NsysFile file;
  file.add_gpu(0, 0, "GPU", "00000000-0000-0000-0000-000000000000");
  file.sql(
      "INSERT INTO TARGET_INFO_GPU (vmId,id,name,smCount,cuDevice) VALUES "
      "(1,1,'Basic Render Driver',0,0)");
  const nsys::Info info = info_of(file);
  CHECK(nsys::find_device(info, 1, 0).name == "GPU");
  CHECK(nsys::find_device(info, 1, 0).uuid == "");

  NsysFile old(NsysLayout::old);
  old.add_gpu(0, 0, "RTX", "");
  old.sql(
      "CREATE TABLE TARGET_INFO_CUDA_GPU (name TEXT, globalMemorySize INTEGER, "
      "numMultiprocessors INTEGER, computeCapabilityMajor INTEGER, computeCapabilityMinor "
      "INTEGER, deviceId INTEGER, pid INTEGER)");
  old.sql("INSERT INTO TARGET_INFO_CUDA_GPU VALUES ('RTX', 1000, 68, 8, 6, 0, 5)");
  const Device d = nsys::find_device(info_of(old), 5, 0);
  CHECK(d.sm_count == 68);
  CHECK(d.memory_bytes == 1000);
  CHECK(d.compute_minor == 6);
}

TEST_CASE("without any ordinals the model is known only when all GPUs are alike") {
  NsysFile alike(NsysLayout::old);
  alike.sql("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT)");
  alike.sql("INSERT INTO TARGET_INFO_GPU VALUES (0,'H100'),(1,'H100')");
  CHECK(nsys::find_device(info_of(alike), 1, 1).name == "H100");
  NsysFile mixed(NsysLayout::old);
  mixed.sql("CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT)");
  mixed.sql("INSERT INTO TARGET_INFO_GPU VALUES (0,'H100'),(1,'A100')");
  CHECK(nsys::find_device(info_of(mixed), 1, 1).name == "");
}

TEST_CASE("only rank variables and known settings leave the environment") {
  NsysFile file;
  const auto variable = [&](const char* value) {
    file.add_capture("PROCESS_0:ENVIRONMENT_VARIABLE", value);
  };
  file.add_capture("PROCESS_0:COMMAND", "python train.py --api-key=SECRET RANK=9");
  file.add_capture("PROCESS_0:USER_NAME", "NCCL_USER=SECRET");
  variable("WANDB_API_KEY=SECRET");
  variable("RANK=5");
  variable("SLURM_PROCID=17");
  variable("WORLD_SIZE=64");
  variable("NCCL_PROTO=LL128");
  variable("NCCL_TOPO_FILE=/home/SECRET/topo.xml");
  variable("NCCL_COMM_ID=SECRET:1234");
  variable("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  variable("CUDA_DEVICE_MAX_CONNECTIONS=1");
  variable("no equals sign");
  const nsys::Info info = info_of(file);
  CHECK(info.environment_rank == 5);
  CHECK(info.environment_world == 64);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"CUDA_DEVICE_MAX_CONNECTIONS", "1"},
      {"NCCL_PROTO", "LL128"},
      {"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}};
  CHECK(info.settings == expected);
}

TEST_CASE("a rank that is no number is no rank") {
  NsysFile file;
  file.add_capture("PROCESS_0:ENVIRONMENT_VARIABLE", "RANK=-1");
  file.add_capture("PROCESS_0:ENVIRONMENT_VARIABLE", "OMPI_COMM_WORLD_RANK=99999999999");
  file.add_capture("PROCESS_0:ENVIRONMENT_VARIABLE", "SLURM_PROCID=3");
  CHECK(info_of(file).environment_rank == 3);
}

TEST_CASE("messages lose their paths and stay on one line") {
  CHECK(nsys::without_paths("Loading '/home/user/x.so' failed: C:\\temp\\y me@host.\n again. ") ==
        "Loading <path> failed: <path> <path> again");
  CHECK(nsys::without_paths("") == "");
  CHECK(nsys::without_paths("\x1b[31mred\x1b[0m") == "?[31mred?[0m");
  CHECK(nsys::without_paths(std::string(1000, 'a')).size() == 160);
}

TEST_CASE("only warnings and errors about our tables are kept") {
  NsysFile file;
  file.add_message(1, "CUDA injection initialized successfully.", 9);
  file.add_message(2, "Unable to collect CPU kernel IP/backtrace samples.");
  file.add_message(2, "CUDA profiling might have not been started correctly.", 9);
  file.add_message(3, "12 CUPTI records were dropped.", 9);
  file.add_message(3, "cuDNN profiling might have not been started correctly.", 9);
  const nsys::Info info = info_of(file);
  REQUIRE(info.messages.size() == 2);
  CHECK(info.messages[0].text == "CUDA profiling might have not been started correctly");
  CHECK_FALSE(info.messages[0].is_loss);
  CHECK(info.messages[1].is_loss);
  CHECK(nsys::pid_of(info.messages[1].process) == 9);
}
