// The kernels of top scores, best first.
#include "kernels/top_scores/top_scores.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<TopScoresKernel> TopScores(const TopScoresShape& shape);
}
namespace reference {
std::unique_ptr<TopScoresKernel> TopScores(const TopScoresShape& shape);
}

std::unique_ptr<TopScoresKernel> MakeTopScores(const TopScoresShape& shape, const Target& target) {
  Check(shape.top <= shape.outputs, "no more top scores than outputs");
  return MakeFirst<TopScoresCall, TopScoresShape>({cpu::TopScores, reference::TopScores}, shape,
                                                  target);
}

}  // namespace yoke
