#pragma once
// Nsight Systems: SQLite exports of 2020 to 2026, and reports through `nsys export`.
#include <string>
#include <string_view>

#include "import/importer.h"

namespace ws {

extern const Importer kNsysImporter;        // SQLite export
extern const Importer kNsysReportImporter;  // .nsys-rep, .qdrep

inline constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

// Which other tool's database it is, for a file that begins as SQLite but is no export.
Error foreign_database(const std::string& path);

bool is_nsys_report_name(std::string_view path);
// The command that turns a report into what we read.
std::string nsys_export_command(const std::string& report);

}  // namespace ws
