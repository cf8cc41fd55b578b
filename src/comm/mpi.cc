// The wire over MPI. CMake builds this file once for each MPI it finds, into a shared library that
// the program loads (comm/launcher.cc). Any thread may call MPI: the sending thread sends a
// message, and any waiting thread receives it.
#include <mpi.h>

#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#include "base/check.h"
#include "comm/mpi_survive.h"
#include "comm/transport.h"
#include "comm/wire.h"

namespace yoke {
namespace {

constexpr int kTag = 0;  // one for all messages: their tags and contexts are in the bytes

/// Throws Error if an MPI call failed.
void Expect(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string(doing) + ", MPI says: " + text);
}

/// A message in flight.
struct Transfer {
  Packet bytes;
  int peer = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  bool done = false;
};

/// MPI objects kept after a loss until the process ends.
class Leftovers {
 public:
  MPI_Comm survivors = MPI_COMM_NULL;  // null: no process is lost

  /// Keeps unfinished transfers, because MPI may still access their memory.
  void Keep(std::list<Transfer>& unfinished) {
    const std::lock_guard lock(mutex_);
    unfinished_.splice(unfinished_.end(), unfinished);
  }

 private:
  std::mutex mutex_;
  std::list<Transfer> unfinished_;
};

/// Tells the other processes of a loss that a call on the wire reported, and throws RankLost.
[[noreturn]] void ThrowLoss(MPI_Comm wire) {
  int rank = 0;
  MPI_Comm_rank(wire, &rank);
  TellOfLoss(wire);
  throw RankLost("rank " + std::to_string(rank) + " has lost another: its process is gone");
}

/// A communicator of MPI for sums.
class MpiGroup : public WireGroup {
 public:
  /// Takes ownership of `ranks`; `wire` is the wire's communicator.
  MpiGroup(MPI_Comm ranks, MPI_Comm wire, Leftovers& left)
      : ranks_(ranks), wire_(wire), left_(left) {}
  ~MpiGroup() override {
    if (sum_.front().request != MPI_REQUEST_NULL)  // a rank is lost or gave up
      left_.Keep(sum_);
    else if (left_.survivors == MPI_COMM_NULL)
      MPI_Comm_free(&ranks_);
  }
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  void Begin(std::span<const float> values) override {
    const auto bytes = std::as_bytes(values);
    Transfer& sum = sum_.front();
    sum.bytes.assign(bytes.begin(), bytes.end());  // a caller that gives up frees its values
    Expect(MPI_Iallreduce(MPI_IN_PLACE, sum.bytes.data(), static_cast<int>(values.size()),
                          MPI_FLOAT, MPI_SUM, ranks_, &sum.request));
  }

  bool Done() override {
    int done = 0;
    Expect(MPI_Test(&sum_.front().request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  }

  void Take(std::span<float> sums) const override {
    std::memcpy(sums.data(), sum_.front().bytes.data(), sums.size_bytes());
  }

 private:
  void Expect(int code) const {
    if (code == MPI_SUCCESS) return;
    if (TellsOfLoss(code)) {
      TellOfLoss(ranks_);
      ThrowLoss(wire_);
    }
    yoke::Expect(code, "an all-reduce failed");
  }

  MPI_Comm ranks_;
  MPI_Comm wire_;
  Leftovers& left_;
  std::list<Transfer> sum_ = std::list<Transfer>(1);
};

class MpiWire : public Wire {
 public:
  /// Takes ownership of the communicator.
  MpiWire(MPI_Comm everybody, Leftovers& left) : everybody_(everybody), left_(left) {
    Expect(MPI_Comm_set_errhandler(everybody_, MPI_ERRORS_RETURN),
           "MPI_Comm_set_errhandler failed");
    Expect(MPI_Comm_rank(everybody_, &rank_), "MPI_Comm_rank failed");
    Expect(MPI_Comm_size(everybody_, &size_), "MPI_Comm_size failed");
    Expect(MPI_Type_contiguous(kWireBlock, MPI_BYTE, &block_), "MPI_Type_contiguous failed");
    Expect(MPI_Type_commit(&block_), "MPI_Type_commit failed");
  }
  ~MpiWire() override {
    if (left_.survivors != MPI_COMM_NULL) {  // after a loss nothing is freed
      left_.Keep(sent_);
      left_.Keep(coming_);
      return;
    }
    MPI_Type_free(&block_);
    MPI_Comm_free(&everybody_);
  }
  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void Send(int to, Packet bytes) override {
    std::list<Transfer> one(1);
    Transfer& t = one.front();
    t.bytes = std::move(bytes);
    t.peer = to;
    const auto [count, type] = CountOf(t.bytes);
    ExpectOf(to, MPI_Isend(t.bytes.data(), count, type, to, kTag, everybody_, &t.request),
             "send to ");
    const std::lock_guard lock(mutex_);
    sent_.splice(sent_.end(), one);
    DropDone();
  }

  bool Receive(int& from, Packet& bytes) override {
    Sending();  // makes progress
    while (Accept()) {
    }
    if (coming_.empty()) return false;
    std::vector<bool> waits(size_);  // by rank: an earlier message is incomplete
    for (auto t = coming_.begin(); t != coming_.end(); ++t) {
      t->done = t->done || Test(coming_, t, "receive from ");
      if (t->done && !waits[t->peer]) {
        from = t->peer;
        bytes = std::move(t->bytes);
        coming_.erase(t);
        return true;
      }
      waits[t->peer] = true;
    }
    return false;
  }

  bool Sending() override {
    const std::lock_guard lock(mutex_);
    DropDone();
    return !sent_.empty();
  }

  bool Receiving() override { return !coming_.empty(); }

  std::unique_ptr<WireGroup> Group(std::span<const int> ranks, uint64_t context) override {
    constexpr uint64_t kTags = 32766;  // MPI guarantees tags up to 32767
    MPI_Group everybody = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    Expect(MPI_Comm_group(everybody_, &everybody), "MPI_Comm_group failed");
    Expect(MPI_Group_incl(everybody, static_cast<int>(ranks.size()), ranks.data(), &some),
           "MPI_Group_incl failed");
    MPI_Comm group = MPI_COMM_NULL;
    const int tag = kTag + 1 + static_cast<int>(context % kTags);  // Open MPI 5 sends with it
    const int code = MPI_Comm_create_group(everybody_, some, tag, &group);
    MPI_Group_free(&some);
    MPI_Group_free(&everybody);
    ExpectOf(MPI_ANY_SOURCE, code, "form a group with ");
    Expect(MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler failed");
    return std::make_unique<MpiGroup>(group, everybody_, left_);
  }

  void Abort(int status) override { MPI_Abort(everybody_, status); }

  std::unique_ptr<Wire> Survivors() override {
    left_.survivors = yoke::Survivors(everybody_);
    return std::make_unique<MpiWire>(left_.survivors, left_);
  }

 private:
  void ExpectOf(int peer, int code, const char* operation) const {
    if (code == MPI_SUCCESS) return;
    if (TellsOfLoss(code)) ThrowLoss(everybody_);
    const std::string other = peer < 0 ? "any rank" : "rank " + std::to_string(peer);
    const std::string doing = "rank " + std::to_string(rank_) + " cannot " + operation + other;
    Expect(code, doing.c_str());
  }

  std::pair<int, MPI_Datatype> CountOf(const Packet& bytes) const {
    const auto length = static_cast<int64_t>(bytes.size());
    if (length <= kLongestInBytes) return {static_cast<int>(length), MPI_BYTE};
    return {static_cast<int>(length / kWireBlock), block_};
  }

  /// Starts to receive the next message that has been sent; false if there is none.
  bool Accept() {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    ExpectOf(MPI_ANY_SOURCE,
             MPI_Improbe(MPI_ANY_SOURCE, kTag, everybody_, &found, &message, &status),
             "receive from ");
    if (!found) return false;
    MPI_Count length = 0;
    Expect(MPI_Get_elements_x(&status, MPI_BYTE, &length), "MPI_Get_elements_x failed");
    Transfer& t = coming_.emplace_back();
    t.bytes.resize(length);
    t.peer = status.MPI_SOURCE;
    const auto [count, type] = CountOf(t.bytes);
    ExpectOf(t.peer, MPI_Imrecv(t.bytes.data(), count, type, &message, &t.request),
             "receive from ");
    return true;
  }

  /// Whether the transfer is complete. Removes a failed one, so that it is reported once.
  bool Test(std::list<Transfer>& list, std::list<Transfer>::iterator t,
            const char* operation) const {
    int done = 0;
    const int code = MPI_Test(&t->request, &done, MPI_STATUS_IGNORE);
    const int peer = t->peer;
    if (code != MPI_SUCCESS) list.erase(t);
    ExpectOf(peer, code, operation);
    return done != 0;
  }

  /// Removes complete sends. Requires the lock.
  void DropDone() {
    for (auto t = sent_.begin(); t != sent_.end();)
      t = Test(sent_, t, "send to ") ? sent_.erase(t) : std::next(t);
  }

  MPI_Comm everybody_ = MPI_COMM_NULL;
  Leftovers& left_;
  MPI_Datatype block_ = MPI_DATATYPE_NULL;
  int rank_ = 0;
  int size_ = 0;
  std::list<Transfer> coming_;  // in the order found
  std::mutex mutex_;
  std::list<Transfer> sent_;
};

class StartedMpi : public Mpi {
 public:
  StartedMpi() {
    int before = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&before);
    if (before) throw Error("MPI can be started only once per process");
    Expect(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level),
           "MPI_Init_thread failed");
    Expect(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
           "MPI_Comm_set_errhandler failed");
    Expect(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank failed");
    Expect(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size failed");
    if (level == MPI_THREAD_MULTIPLE) return;
    MPI_Finalize();
    throw UserError(
        "this MPI was built without MPI_THREAD_MULTIPLE, which yoke needs: several threads of a "
        "rank wait for messages at once");
  }
  ~StartedMpi() override {
    left_.survivors == MPI_COMM_NULL ? void(MPI_Finalize()) : LeaveTogether(left_.survivors);
  }
  StartedMpi(const StartedMpi&) = delete;
  StartedMpi& operator=(const StartedMpi&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Wire> Open() override {
    MPI_Comm everybody = MPI_COMM_NULL;
    Expect(MPI_Comm_dup(MPI_COMM_WORLD, &everybody), "MPI_Comm_dup failed");
    return std::make_unique<MpiWire>(everybody, left_);
  }

 private:
  Leftovers left_;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace
}  // namespace yoke

extern "C" __attribute__((visibility("default"))) yoke::Mpi* YokeStartMpi() {
  return new yoke::StartedMpi;
}
