// Makers: each operation by name, with the list of its kernels, best first. A kernel may decline;
// the last of a list is the CPU's reference, which does not. operations.def names them all.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/queued.h"
#include "kernels/recorder.h"
#include "tensor/tensor.h"
#include "tensor/types.h"

namespace yoke {

/// A call that lists its addresses can run on an emulated device.
template <typename Call>
concept ListsAddresses = requires(Call call) {
  call.Addresses([](auto*&...) {});
};

/// Whether the device is of this kind: "cuda:1" is of "cuda".
bool IsOfKind(const Device& device, std::string_view kind);

/// A function that makes a kernel for a shape: of the CPU, or of another kind of device. It returns
/// null for what it does not support.
template <typename Call, typename Shape>
struct Maker {
  using Made = std::unique_ptr<Kernel<Call>>;
  constexpr Maker() = default;
  constexpr Maker(const char* name, Made (*make)(const Shape&)) : kernel(name), of_cpu(make) {}
  constexpr Maker(const char* name, const char* device, Made (*make)(const Shape&, const Target&),
                  Layout (*wanted)(const Shape&) = nullptr)
      : kernel(name), kind(device), of_target(make), layout(wanted) {}

  const char* kernel = nullptr;
  const char* kind = nullptr;  ///< Of the device; null: the CPU's, which emulated devices run too.
  Made (*of_cpu)(const Shape&) = nullptr;
  Made (*of_target)(const Shape&, const Target&) = nullptr;
  /// The layout of images that a device's kernel wants; null: whatever they have.
  Layout (*layout)(const Shape&) = nullptr;
};

namespace cuda {
/// Makes the kernel of a call on a device cuda:N (kernels/cuda). Null: it declines, as without CUDA
/// all do.
template <typename Call, typename Shape>
std::unique_ptr<Kernel<Call>> Make(const Shape& shape, const Target& target);
}  // namespace cuda

/// What a device must compute of an operation besides f32 forward.
struct Forms {
  bool backward = true;
  bool bf16 = true;
  const char* others = "";  ///< For example "relu, sigmoid, tanh".
};

/// An operation, whatever its calls and shapes are.
class OperationEntry {
 public:
  const char* name() const { return name_; }
  const Forms& forms() const { return forms_; }
  /// The names of its kernels for a device, best first; empty: there is none.
  std::vector<std::string> KernelsOn(Device& device) const;

 protected:
  static constexpr size_t kMostKernels = 8;
  struct Listed {
    const char* kernel = nullptr;
    const char* kind = nullptr;
  };
  constexpr OperationEntry(const char* name, const Forms& forms, bool lists_addresses)
      : name_(name), forms_(forms), lists_addresses_(lists_addresses) {}

  const char* name_;
  Forms forms_;
  bool lists_addresses_;
  std::array<Listed, kMostKernels> listed_ = {};
};

/// An operation and the makers of its kernels.
template <typename Call, typename Shape>
class KernelList : public OperationEntry {
 public:
  using Made = std::unique_ptr<Kernel<Call>>;
  constexpr KernelList(const char* name, const Forms& forms,
                       std::initializer_list<Maker<Call, Shape>> makers)
      : OperationEntry(name, forms, ListsAddresses<Call>), count_(makers.size()) {
    std::ranges::copy(makers, makers_.begin());
    for (size_t i = 0; i < count_; ++i) listed_[i] = {makers_[i].kernel, makers_[i].kind};
  }

  /// The first kernel that does not decline; with `target.reference`, the last one. Throws Error
  /// for a device that none takes.
  Made Make(const Shape& shape, const Target& target) const {
    auto* const recorder = dynamic_cast<Recorder*>(target.stream);
    if (!recorder) return First(shape, target);
    Target recorded = target;
    recorded.stream = &recorder->stream();
    return std::make_unique<Recorded<Call>>(name_, First(shape, recorded), *recorder);
  }

  /// The layout of images that the device's own kernels want, best first; none: it has none that
  /// wants one.
  std::optional<Layout> LayoutOn(const Device& device, const Shape& shape) const {
    for (size_t i = 0; i < count_; ++i)
      if (makers_[i].layout && IsOfKind(device, makers_[i].kind)) return makers_[i].layout(shape);
    return {};
  }

 private:
  Made First(const Shape& shape, const Target& target) const {
    for (size_t i = target.reference ? count_ - 1 : 0; i < count_; ++i)
      if (Made kernel = MakeBy(makers_[i], shape, target)) return kernel;
    throw Error(fmt::format("{} runs on the CPU only, not on {}", name_, target.device->name()));
  }

  static Made MakeBy(const Maker<Call, Shape>& maker, const Shape& shape, const Target& target) {
    if (maker.kind)
      return IsOfKind(*target.device, maker.kind) ? maker.of_target(shape, target) : nullptr;
    if (target.device->IsHost()) return maker.of_cpu(shape);
    if constexpr (ListsAddresses<Call>) {
      if (!target.stream->work_queue()) return nullptr;
      if (Made kernel = maker.of_cpu(shape))
        return std::make_unique<Queued<Call>>(std::move(kernel), *target.stream);
    }
    return nullptr;
  }

  std::array<Maker<Call, Shape>, kMostKernels> makers_ = {};
  size_t count_;
};

/// For operations that need none.
struct NoShape {};

/// A kernel of an operation's functor: loops over memory that suit every shape and CPU. A `Functor`
/// has a type `Call`, `Forward(call)` and, if there is a gradient, `Backward(call)`.
template <typename Functor>
class Loops : public Kernel<typename Functor::Call> {
 public:
  using Call = typename Functor::Call;
  explicit Loops(const Functor& functor) : functor_(functor) {}
  void Forward(const Call& call) override { functor_.Forward(call); }
  void Backward(const Call& call) override {
    if constexpr (requires { functor_.Backward(call); })
      functor_.Backward(call);
    else
      Kernel<Call>::Backward(call);
  }
  std::string name() const override { return "loops"; }

 private:
  Functor functor_;
};

/// The maker of a functor's loops; the functor holds the shape.
template <typename Functor, typename Shape>
std::unique_ptr<Kernel<typename Functor::Call>> LoopsOf(const Shape& shape) {
  if constexpr (std::is_same_v<Shape, NoShape>)
    return std::make_unique<Loops<Functor>>(Functor());
  else
    return std::make_unique<Loops<Functor>>(Functor{shape});
}

/// The same of a functor for each type of elements, f32 and bf16, which the shape tells.
template <template <typename> class Functor, typename Shape>
std::unique_ptr<Kernel<typename Functor<float>::Call>> TypedLoopsOf(const Shape& shape) {
  return shape.type == DType::kBf16 ? LoopsOf<Functor<Bf16>>(shape)
                                    : LoopsOf<Functor<float>>(shape);
}

#define YOKE_OPERATION(name, Call, Shape) \
  struct Call;                            \
  struct Shape;
#include "kernels/operations.def"
#undef YOKE_OPERATION

namespace operation {
#define YOKE_OPERATION(name, Call, Shape) \
  extern const KernelList<Call, Shape> name;  // NOLINT(bugprone-macro-parentheses)
#include "kernels/operations.def"
#undef YOKE_OPERATION
}  // namespace operation

/// All of them, but for the functions of activation layers and the update rules.
std::vector<const OperationEntry*> operations();

/// YOKE_TF32=1 in the environment, unless a Tf32Scope of this thread says otherwise: 10 bits of
/// each factor's fraction count, at many times the rate.
bool UsesTf32();

/// What UsesTf32 returns in this thread while it lives: for kernels that are made meanwhile.
class Tf32Scope {
 public:
  explicit Tf32Scope(bool rounds);
  ~Tf32Scope();
  Tf32Scope(const Tf32Scope&) = delete;
  Tf32Scope& operator=(const Tf32Scope&) = delete;

 private:
  std::optional<bool> outer_;
};

}  // namespace yoke
