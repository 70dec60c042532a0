#pragma once
// Recordings of `wallsight record`: schemas/recording_format.md.
#include "import/importer.h"

namespace ws {

extern const Importer kRecordingImporter;

}  // namespace ws
