// Which importer reads a file is decided by its content, never by its name.
// Tested by: registry_test.cpp
#include "import/registry.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "import/file_head.h"
#include "import/kineto.h"
#include "import/nsys.h"
#include "import/recording.h"
#include "import/refusals.h"

namespace ws {
namespace {

namespace fs = std::filesystem;

const Importer* importer_of(const std::string& path, const FileHead& head) {
  const Importer* best = nullptr;
  int surest = 0;
  for (const Importer* importer : importers()) {
    const int sure = importer->sniff(head.bytes, path);
    if (sure > surest) best = importer, surest = sure;
  }
  return best;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// An export beside its report is the same recording: the report is left out.
bool export_stands_beside(const fs::path& path) {
  if (!is_nsys_report_name(path.string())) return false;
  std::error_code failed;
  fs::path sqlite = path;
  return fs::exists(sqlite.replace_extension(".sqlite"), failed);
}

bool named_like_a_trace(std::string_view path) {
  for (const std::string_view end : {".json", ".json.gz", ".sqlite", ".nsys-rep", ".qdrep"})
    if (path.size() > end.size() && path.substr(path.size() - end.size()) == end) return true;
  return false;
}

// A file that is left out is a rank that is missing where it should have been a trace; what was
// made of the traces is none.
void note_left_out(const std::string& path, const Result<FileHead>& head, Notes& notes) {
  if (head && is_own_product(*head)) return;
  const std::string name = fs::path(path).filename().string();
  const bool broken = named_like_a_trace(path) && (!head || is_damaged(*head)) &&
                      !(head && export_stands_beside(path));
  if (!broken) {
    notes.add(NoteCode::file_skipped, name);
    return;
  }
  note_unreadable(path, head ? refusal(path, *head) : head.error(), notes);
}

// Folders in a folder that hold a trace, sorted. Each may be another run, so none is read unasked;
// few files of each are looked at.
std::vector<std::string> folders_with_traces(const std::string& folder) {
  constexpr size_t kMostFolders = 1000, kMostFiles = 50;
  std::vector<std::string> out;
  std::error_code failed;
  fs::directory_iterator it(folder, failed);
  for (size_t seen = 0; !failed && it != fs::directory_iterator() && seen < kMostFolders;
       it.increment(failed), ++seen) {
    std::error_code unknown;
    if (!it->is_directory(unknown) || it->is_symlink(unknown)) continue;
    fs::directory_iterator below(it->path(), unknown);
    bool found = false;
    for (size_t files = 0;
         !unknown && below != fs::directory_iterator() && files < kMostFiles && !found;
         below.increment(unknown), ++files) {
      std::error_code no_file;
      if (!below->is_regular_file(no_file)) continue;
      const Result<FileHead> head = read_head(below->path().string());
      found = head && importer_of(below->path().string(), *head) != nullptr;
    }
    if (found) out.push_back(it->path().filename().string());
  }
  std::sort(out.begin(), out.end(), natural_less);
  return out;
}

// "after, before", at most a few of them.
std::string some_names(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 5;
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i) out += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

// What a folder without traces holds instead, as far as first bytes tell: the kind of its first
// files, or of those in the folders below. Few files are looked at.
struct Instead {
  Recognised kind;
  std::string name;
};
std::optional<Instead> held_instead(const std::string& folder) {
  constexpr size_t kMostFiles = 50;
  std::error_code failed;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator it(folder, failed);
  for (size_t seen = 0; !failed && it != fs::recursive_directory_iterator() && seen < 1000;
       it.increment(failed), ++seen) {
    std::error_code unknown;
    if (it.depth() >= 1) it.disable_recursion_pending();
    if (it->is_regular_file(unknown)) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < files.size() && i < kMostFiles; ++i) {
    const Result<FileHead> head = read_head(files[i].string());
    if (!head) continue;
    if (const Recognised kind = recognise(*head); !kind.found.empty())
      return Instead{kind, files[i].lexically_relative(folder).string()};
  }
  return std::nullopt;
}

Result<void> add_folder(const std::string& folder, std::vector<std::string>& out, Notes& notes) {
  std::error_code failed;
  std::vector<std::string> names;
  fs::directory_iterator it(folder, failed);
  for (; !failed && it != fs::directory_iterator(); it.increment(failed)) {
    std::error_code unknown;
    if (it->is_regular_file(unknown)) names.push_back(it->path().string());
  }
  if (failed) {
    return Error{fmt::format("{}: can not read the folder ({}); check its permissions", folder,
                             failed.message())};
  }
  std::sort(names.begin(), names.end(), natural_less);
  const size_t before = out.size();
  for (const std::string& name : names) {
    const Result<FileHead> head = read_head(name);
    const bool trace = head && importer_of(name, *head) != nullptr && !export_stands_beside(name);
    if (trace) {
      out.push_back(name);
    } else {
      note_left_out(name, head, notes);
    }
  }
  const std::vector<std::string> below = folders_with_traces(folder);
  if (out.size() == before && !below.empty()) {
    return Error{fmt::format(
        "{}: expected traces in the folder, found them only in folders below it: {}; give the one "
        "that holds the run, or all of these folders if each holds a rank",
        folder, some_names(below))};
  }
  if (!below.empty())
    notes.add(NoteCode::folders_not_read, {}, static_cast<int64_t>(below.size()),
              some_names(below));
  if (out.size() == before) {
    if (const auto instead = held_instead(folder)) {
      return Error{fmt::format("{}: expected traces in the folder, found none; {} is {}; {}",
                               folder, instead->name, instead->kind.found, instead->kind.advice)};
    }
    return Error{fmt::format(
        "{}: expected traces in the folder, found none among {} files; give a folder of Nsight "
        "Systems SQLite exports, PyTorch traces or recordings",
        folder, names.size())};
  }
  return {};
}

}  // namespace

const std::vector<const Importer*>& importers() {
  static const std::vector<const Importer*> kImporters = {
      &kNsysImporter,
      &kNsysReportImporter,
      &kKinetoImporter,
      &kRecordingImporter,
  };
  return kImporters;
}

bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      size_t m = i, n = j;
      while (m < a.size() && is_digit(a[m])) ++m;
      while (n < b.size() && is_digit(b[n])) ++n;
      if (m - i != n - j) return m - i < n - j;
      const int order = a.substr(i, m - i).compare(b.substr(j, n - j));
      if (order != 0) return order < 0;
      i = m, j = n;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i, ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // "01" and "1"
}

void note_unreadable(const std::string& path, const Error& why, Notes& notes) {
  const std::string name = fs::path(path).filename().string();
  const std::string& text = why.message;
  const size_t place = text.compare(0, path.size(), path) == 0 ? path.size() : 0;
  notes.add(NoteCode::file_unreadable, {}, 1,
            place == 0 ? name + ": " + text : name + text.substr(place));
}

Result<std::vector<Trace>> read_file(const std::string& path) {
  const Result<FileHead> head = read_head(path);
  if (!head) return head.error();
  const Importer* importer = importer_of(path, *head);
  return importer != nullptr ? importer->read(path) : refusal(path, *head);
}

void drop_repeated(std::vector<std::string>& files, Notes& notes) {
  std::stable_sort(files.begin(), files.end(), natural_less);
  std::set<std::pair<dev_t, ino_t>> seen;
  std::vector<std::string> kept;
  for (std::string& file : files) {
    struct stat info {};
    const bool known = ::stat(file.c_str(), &info) == 0;
    if (known && !seen.emplace(info.st_dev, info.st_ino).second) {
      notes.add(NoteCode::repeated_input, {}, 1, fs::path(file).filename().string());
    } else {
      kept.push_back(std::move(file));
    }
  }
  files = std::move(kept);
}

Result<std::vector<std::string>> list_inputs(const std::vector<std::string>& inputs, Notes& notes) {
  std::vector<std::string> out;
  std::optional<Error> damaged;
  for (const std::string& input : inputs) {
    std::error_code failed;
    if (fs::is_directory(input, failed)) {
      if (const Result<void> added = add_folder(input, out, notes); !added) return added.error();
      continue;
    }
    const Result<FileHead> head = read_head(input);
    if (head && importer_of(input, *head) != nullptr) {
      out.push_back(input);
      continue;
    }
    // A rank's file that broke costs its rank, a wrong name or a file of another kind is a mistake.
    const Error why = head ? refusal(input, *head) : head.error();
    const bool broken = head ? is_damaged(*head) : fs::is_regular_file(input, failed);
    if (!broken) return why;
    if (!damaged) damaged = why;
    note_unreadable(input, why, notes);
  }
  if (out.empty() && damaged) return *damaged;
  drop_repeated(out, notes);
  return out;
}

}  // namespace ws
