// Fibers: turns, exceptions and floating-point modes of their own, many stacks.
#include "base/fiber.h"

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/thread.h"

namespace yoke::fiber_test {

/// Resumes the fibers by turns until all have ended.
void RunByTurns(std::vector<std::unique_ptr<Fiber>>& fibers) {
  for (bool one = true; one;) {
    one = false;
    for (const auto& fiber : fibers) {
      if (fiber->ended()) continue;
      fiber->Resume();
      one = true;
    }
  }
}

TEST(Fiber, RunsByTurns) {
  FiberStacks stacks(2);
  std::string said;
  std::vector<std::unique_ptr<Fiber>> fibers(2);
  for (int i = 0; i < 2; ++i)
    fibers[i] = std::make_unique<Fiber>(stacks, [&, i] {
      for (int step = 0; step < 3; ++step) {
        said += std::string(1, static_cast<char>("ab"[i])) + std::to_string(step) + " ";
        if (step < 2) fibers[i]->Suspend();
      }
    });
  RunByTurns(fibers);
  EXPECT_EQ(said, "a0 b0 a1 b1 a2 b2 ");
}

TEST(Fiber, KeepsItsExceptionsAcrossSwitches) {
  FiberStacks stacks(3);
  std::vector<std::unique_ptr<Fiber>> fibers(3);
  std::vector<std::string> caught;
  struct Suspends {
    Fiber& fiber;
    explicit Suspends(Fiber& given) : fiber(given) {}
    ~Suspends() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      fiber.Suspend();  // while an exception passes
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
    Suspends(const Suspends&) = delete;
    Suspends& operator=(const Suspends&) = delete;
  };
  for (int i = 0; i < 3; ++i)
    fibers[i] = std::make_unique<Fiber>(stacks, [&, i] {
      Fiber& self = *fibers[i];
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      try {
        const Suspends in_passing(self);
        throw std::runtime_error("outer " + std::to_string(i));
      } catch (const std::exception& outer) {
        self.Suspend();  // in a catch block
        try {
          throw std::runtime_error("inner " + std::to_string(i));
        } catch (const std::exception& inner) {
          self.Suspend();
          caught.emplace_back(inner.what());
        }
        try {
          throw;  // the one that is handled here
        } catch (const std::exception& again) {
          caught.emplace_back(again.what());
        }
        EXPECT_STREQ(outer.what(), caught.back().c_str());
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    });
  RunByTurns(fibers);
  EXPECT_EQ(caught, (std::vector<std::string>{"inner 0", "outer 0", "inner 1", "outer 1", "inner 2",
                                              "outer 2"}));
  EXPECT_EQ(std::current_exception(), nullptr);
}

TEST(Fiber, ResumesWhileAnExceptionIsHandled) {
  FiberStacks stacks(1);
  std::optional<Fiber> fiber;
  fiber.emplace(stacks, [&] {
    EXPECT_EQ(std::current_exception(), nullptr);
    fiber->Suspend();
    try {
      throw 1;
    } catch (int) {
      fiber->Suspend();
    }
  });
  try {
    throw std::runtime_error("of the resumer");
  } catch (...) {
    while (!fiber->ended()) {
      fiber->Resume();
      EXPECT_THROW(throw, std::runtime_error);
    }
  }
}

TEST(Fiber, KeepsItsFloatingPointModes) {
  FiberStacks stacks(1);
  const uint32_t before = FlushDenormals();
  ComputeAs(0);
  std::optional<Fiber> fiber;
  fiber.emplace(stacks, [&] {
    EXPECT_FALSE(FlushesDenormals());
    FlushDenormals();
    fiber->Suspend();
    EXPECT_TRUE(FlushesDenormals());
  });
  while (!fiber->ended()) {
    fiber->Resume();
    EXPECT_FALSE(FlushesDenormals());
  }
  ComputeAs(before);
}

TEST(Fiber, UsesAStackAgain) {
  FiberStacks stacks(1);
  const std::byte* place = nullptr;
  for (int i = 0; i < 100; ++i) {
    std::optional<Fiber> fiber;
    fiber.emplace(stacks, [&] {
      std::array<volatile std::byte, 10000> local;
      for (volatile std::byte& each : local) each = std::byte{1};
      fiber->Suspend();
    });
    while (!fiber->ended()) fiber->Resume();
    const std::span<std::byte> stack = stacks.Take();
    EXPECT_TRUE(i == 0 || stack.data() == place);
    place = stack.data();
    stacks.Return(stack);
  }
}

TEST(FiberStacks, AreManyWhereTheyAreSmall) {
  constexpr size_t kMany =
      40000;  // with guards these would be more mappings than a process may have
  FiberStacks stacks(kMany);
  std::vector<std::span<std::byte>> taken;
  for (size_t i = 0; i < kMany; ++i) {
    taken.push_back(stacks.Take());
    EXPECT_GE(taken.back().size(), size_t{250000});
    taken.back()[taken.back().size() - 1] = std::byte{1};
  }
  for (const auto stack : taken) stacks.Return(stack);
}

TEST(FiberStacksDeathTest, AFewHaveGuards) {
  EXPECT_DEATH(
      {
        FiberStacks stacks(1);
        const std::span<std::byte> stack = stacks.Take();
        *(stack.data() - 1) = std::byte{1};
      },
      "");
}

}  // namespace yoke::fiber_test
