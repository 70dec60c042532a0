// Our side of the NVTX interface against the toolkit's headers, and a real header-only client.
// Compiled only where the toolkit is.
#include "collector/nvtx_abi.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "collector/recording.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "unit/collector/frames.h"

namespace wn = ws::collector::nvtx;

static_assert(
    sizeof(wn::EventAttributes) == sizeof(nvtxEventAttributes_t) &&
    wn::kAttributesBytes == sizeof(nvtxEventAttributes_t) &&
    offsetof(wn::EventAttributes, payload_type) == offsetof(nvtxEventAttributes_t, payloadType) &&
    offsetof(wn::EventAttributes, payload_count) == offsetof(nvtxEventAttributes_t, reserved0) &&
    offsetof(wn::EventAttributes, payload) == offsetof(nvtxEventAttributes_t, payload) &&
    offsetof(wn::EventAttributes, message_type) == offsetof(nvtxEventAttributes_t, messageType) &&
    offsetof(wn::EventAttributes, message) == offsetof(nvtxEventAttributes_t, message));
static_assert(wn::kAscii == NVTX_MESSAGE_TYPE_ASCII && wn::kWide == NVTX_MESSAGE_TYPE_UNICODE &&
              wn::kRegistered == NVTX_MESSAGE_TYPE_REGISTERED &&
              wn::kPayloadExtended == NVTX_PAYLOAD_TYPE_EXT);
static_assert(sizeof(wn::PayloadData) == sizeof(nvtxPayloadData_t) &&
              offsetof(wn::PayloadData, size) == offsetof(nvtxPayloadData_t, size) &&
              offsetof(wn::PayloadData, bytes) == offsetof(nvtxPayloadData_t, payload));
static_assert(offsetof(wn::SchemaEntry, name) == offsetof(nvtxPayloadSchemaEntry_t, name) &&
              offsetof(wn::SchemaEntry, array_or_union) ==
                  offsetof(nvtxPayloadSchemaEntry_t, arrayOrUnionDetail) &&
              offsetof(wn::SchemaEntry, offset) == offsetof(nvtxPayloadSchemaEntry_t, offset) &&
              sizeof(wn::SchemaEntry) == sizeof(nvtxPayloadSchemaEntry_t));
static_assert(
    offsetof(wn::SchemaAttributes, entries) == offsetof(nvtxPayloadSchemaAttr_t, entries) &&
    offsetof(wn::SchemaAttributes, entry_count) == offsetof(nvtxPayloadSchemaAttr_t, numEntries) &&
    offsetof(wn::SchemaAttributes, schema) == offsetof(nvtxPayloadSchemaAttr_t, schemaId) &&
    wn::kFieldSchemaId == NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID &&
    wn::kFirstDynamicSchema == NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
static_assert(wn::kShort == NVTX_PAYLOAD_ENTRY_TYPE_SHORT &&
              wn::kUlongLong == NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG &&
              wn::kInt8 == NVTX_PAYLOAD_ENTRY_TYPE_INT8 &&
              wn::kUint64 == NVTX_PAYLOAD_ENTRY_TYPE_UINT64 &&
              wn::kSize == NVTX_PAYLOAD_ENTRY_TYPE_SIZE);
static_assert(int{wn::kSchemaRegister} == NVTX3EXT_CBID_nvtxPayloadSchemaRegister &&
              int{wn::kRangePushPayload} == NVTX3EXT_CBID_nvtxRangePushPayload &&
              int{wn::kRangePopPayload} == NVTX3EXT_CBID_nvtxRangePopPayload &&
              int{wn::kDomainIsEnabled} == NVTX3EXT_CBID_nvtxDomainIsEnabled &&
              wn::kPayloadModule == NVTX_EXT_PAYLOAD_MODULEID);

// A real client finds the library by its variable, as in a job.
TEST_CASE("a header-only client of the toolkit is recorded") {
  const ws::test::ScratchFolder folder;
  ::setenv("WALLSIGHT_DIR", folder.path().c_str(), 1);
  ::setenv("NVTX_INJECTION64_PATH", WS_INJECT_LIBRARY, 1);
  const pid_t child = ::fork();  // the library records its process until that ends
  if (child == 0) {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("mine");
    nvtxEventAttributes_t a{};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxRangePushA("outer");
    nvtxDomainRangePushEx(domain, &a);
    nvtxDomainRangePop(domain);
    nvtxRangePop();
    std::exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  std::string path;
  for (const auto& e : std::filesystem::directory_iterator(folder.path())) path = e.path();
  REQUIRE(path != "");
  std::set<std::string> names;
  int64_t ranges = 0;
  for (const auto& chunk : ws::test::chunks_of(path)) {
    for (const std::string& text : chunk.strings().text()) names.insert(text);
    ranges += chunk.ranges().begin_delta_size();
  }
  CHECK(ranges == 2);
  CHECK(names == std::set<std::string>{"mine", "outer", "registered"});
}
