// UsedRowList: uses by row.
#include "kernels/active_rows/active_rows.h"

namespace yoke {

void UsedRowList::Find(int64_t rows) {
  SortById(uses_, scratch_, rows);
  FindRuns(uses_, ids_, starts_);
}

UsedRows UsedRowList::View() const {
  return {.count = std::ssize(ids_),
          .ids = ids_.data(),
          .starts = starts_.data(),
          .uses = uses_.data()};
}

}  // namespace yoke
