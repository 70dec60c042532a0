#pragma once
// Walks one file: the keys of the top level, the events, and what to do where the text is damaged.
// A bad byte costs the event it stands in; the next place where a whole event can be read is where
// reading goes on. A cut file gives what stands before the cut.
#include <string>

#include "base/result.h"
#include "import/kineto_header.h"
#include "import/kineto_rows.h"
#include "import/source.h"

namespace ws::kineto {

class Reader {
 public:
  Reader(Source& source, std::string path)
      : source_(source), window_(source), path_(std::move(path)) {}
  // Errors when the file is no trace or holds no event that could be used.
  Result<void> read();
  Rows& rows() { return rows_; }
  const Header& header() const { return header_; }

 private:
  template <class ScanRecord>
  Scan scan_with_refill(ScanRecord scan_record);
  bool at_sign();  // skips blanks; false at the end of the file
  bool next_is(char sign);
  void close();
  void read_members();
  Scan read_member();
  bool find_events();
  void read_events();
  bool read_element();
  bool resync();
  bool is_whole_event();
  bool is_end_of_events(bool doubt);
  void note_repairs(const Repairs& repairs, const char* at);
  void note_end();
  Result<void> verdict() const;
  Place place_of(const char* p) const { return {"event", events_, window_.offset_of(p)}; }

  Source& source_;
  Window window_;
  std::string path_;
  const char* pos_ = nullptr;
  Event event_;
  Rows rows_;
  Header header_;
  int64_t events_ = 0;  // entries of the event list so far: the number of the current one
  bool array_form_ = false, saw_events_ = false;
  bool whole_ = false;  // the last bracket was there
};

}  // namespace ws::kineto
