// Communicator: a context and its members over a transport.
#include "comm/communicator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "comm/communicator_group.h"
#include "comm/virtual_time.h"

namespace yoke {
namespace {

constexpr uint64_t kChildStep = 0x9E3779B97F4A7C15U;  // step of the numbers that Random mixes

}  // namespace

Communicator::Communicator(std::shared_ptr<Transport> transport) {
  const int rank = transport->rank();
  auto everybody = std::make_shared<const Members>(transport->size());
  group_ = std::make_shared<Group>(
      Group{.transport = std::move(transport), .members = std::move(everybody), .rank = rank});
}

int Communicator::rank() const { return group_->rank; }
int Communicator::size() const { return group_->members->size(); }
Traffic Communicator::traffic() const { return group_->traffic; }
double Communicator::timeout() const { return group_->transport->timeout(); }
double Communicator::Now() const { return group_->transport->Now(); }
void Communicator::Sleep(double seconds) const { group_->transport->Sleep(seconds); }

void Communicator::Charge(const Cost& cost, const WorkPlace& place) const {
  const VirtualTime time(*this);
  time.Work(time.Price(cost, place), place);
}

Communicator Communicator::WithScale(double scale) const {
  Communicator scaled = Through(group_->transport);
  scaled.group_->scale = scale;
  return scaled;
}

int64_t Communicator::Billed(size_t bytes, size_t plain) const {
  return static_cast<int64_t>(plain) +
         std::llround(group_->scale * static_cast<double>(bytes - plain));
}

void Communicator::Send(std::span<const std::byte> bytes, int to, int tag, size_t plain) const {
  SendFor(Billed(bytes.size(), plain), bytes, to, tag);
}

void Communicator::SendFor(int64_t billed, std::span<const std::byte> bytes, int to,
                           int tag) const {
  Check(to >= 0 && to < size(), "a message goes to a rank of its communicator");
  Transport& transport = *group_->transport;
  const int world_rank = group_->members->World(to);
  if (VirtualTransport* const simulated = transport.virtual_side())
    simulated->SendFor(billed, world_rank, group_->context, tag, bytes);
  else
    transport.Send(world_rank, group_->context, tag, bytes);
  ++group_->traffic.messages_sent;
  group_->traffic.bytes_sent += billed;
}

Message Communicator::Take(int from, int tag, const char* operation) const {
  const double began = Now();
  Message message = group_->transport->Receive(group_->Key(from, tag), operation);
  Traffic& traffic = group_->traffic;
  traffic.seconds_waited += Now() - began;
  ++traffic.messages_received;
  traffic.bytes_received += message.Billed();
  message.source = group_->SourceOf(message, from);
  return message;
}

int Communicator::TakeInto(std::span<std::byte> into, int from, const InnerMessage& what) const {
  const Message message = Take(from, what.tag, what.operation);
  Check(message.bytes.size() == into.size(), "ranks disagree about the length of a message");
  if (!what.adds) {
    std::ranges::copy(message.bytes, into.begin());
    return message.source;
  }
  auto* const sums = reinterpret_cast<float*>(into.data());
  const auto* const values = reinterpret_cast<const float*>(message.bytes.data());
  for (size_t i = 0; i < into.size() / sizeof(float); ++i) sums[i] += values[i];
  return message.source;
}

Message Communicator::Receive(int from, int tag) const { return Take(from, tag, "receive"); }

int Communicator::Receive(std::span<std::byte> into, int from, int tag) const {
  return TakeInto(into, from, {tag, "receive"});
}

bool Communicator::TryReceive(int from, int tag, Message& message, double seconds) const {
  if (!group_->transport->TryReceive(group_->Key(from, tag), seconds, message)) return false;
  ++group_->traffic.messages_received;
  group_->traffic.bytes_received += message.Billed();
  message.source = group_->SourceOf(message, from);
  return true;
}

Message Communicator::ReceiveWithoutTimeout(int from, int tag) const {
  constexpr double kHour = 3600;
  Message message;
  while (!TryReceive(from, tag, message, kHour)) continue;
  return message;
}

PendingMessage Communicator::ReceiveLater(int from, int tag) const { return {*this, from, tag}; }

bool PendingMessage::Ready() {
  if (!come_) come_ = communicator_.TryReceive(from_, tag_, message_);
  return come_;
}

Message PendingMessage::Wait() {
  if (!come_) return communicator_.Receive(from_, tag_);
  come_ = false;
  return std::move(message_);
}

/// All members compute the same number.
uint64_t Communicator::NextContext(uint64_t color) const {
  const uint64_t child = Random::Mix(group_->context + kChildStep * ++group_->children);
  return Random::Mix(child + color);
}

Communicator Communicator::Open(uint64_t context, std::shared_ptr<const Members> members) const {
  const int rank = members->RankOf(group_->transport->rank());
  return Communicator(std::make_shared<Group>(Group{.transport = group_->transport,
                                                    .context = context,
                                                    .members = std::move(members),
                                                    .rank = rank,
                                                    .scale = group_->scale}));
}

Communicator Communicator::Duplicate() const { return Open(NextContext(0), group_->members); }

Communicator Communicator::Through(const std::shared_ptr<Transport>& transport) const {
  // The counters start at zero; another thread may be writing the old ones.
  return Communicator(std::make_shared<Group>(Group{.transport = transport,
                                                    .context = group_->context,
                                                    .members = group_->members,
                                                    .rank = group_->rank,
                                                    .scale = group_->scale}));
}

Communicator Communicator::For(const Communicator& spawned) const {
  return Through(spawned.group_->transport);
}

std::shared_ptr<void> Communicator::Spawn(std::function<void(const Communicator&)> body) const {
  const Communicator own = Duplicate();
  return group_->transport->Spawn(
      [own, body = std::move(body)](const std::shared_ptr<Transport>& transport) {
        body(own.Through(transport));
      });
}

}  // namespace yoke
