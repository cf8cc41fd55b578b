// Digits: perturbs a glyph's points, draws its curves with a soft pen, adds noise.
#include "data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/random.h"

namespace yoke {
namespace {

constexpr int kSteps = 5;  // line segments per curve between two points

struct Point {
  float x = 0;
  float y = 0;
};

using Points = std::vector<Point>;

/// The handwriting of one image; each number is drawn once per image.
struct Hand {
  float xx, xy, yx, yy;    // from the glyph's box (centred, 100 units high) to pixels
  float left, top;         // position of the box's centre
  float shake;             // standard deviation of a point's displacement, in units of the box
  float radius, softness;  // of the pen, in pixels
  float ink, noise;  // darkness of the pen; standard deviation of the paper's noise (0 to 255)
};

Hand DrawHand(Random& random) {
  const auto uniform = [&](double low, double high) {
    return static_cast<float>(random.Uniform(low, high));
  };
  const float height = uniform(0.157, 0.208);
  const float width = height * uniform(0.76, 1.12);
  const float turn = uniform(-0.21, 0.21);
  const float slant = uniform(-0.33, 0.22);  // most people write slanted to the right
  const float c = std::cos(turn), s = std::sin(turn);
  Hand hand{};
  hand.xx = width * c;
  hand.xy = height * (slant * c - s);
  hand.yx = width * s;
  hand.yy = height * (slant * s + c);
  hand.left = kDigitSide * 0.5F + uniform(-1.9, 1.9);
  hand.top = kDigitSide * 0.5F + uniform(-1.9, 1.9);
  hand.shake = uniform(2.0, 5.0);
  hand.radius = uniform(0.8, 1.6);
  hand.softness = uniform(0.8, 1.6);
  hand.ink = uniform(180, 255);
  hand.noise = uniform(0, 25);
  return hand;
}

/// The stroke's points in pixels, perturbed; equal neighbours (corners) stay equal.
Points Place(const Stroke& stroke, const Hand& hand, Random& random) {
  Points points;
  for (size_t i = 0; i < stroke.size(); ++i) {
    if (i > 0 && stroke[i] == stroke[i - 1]) {
      points.push_back(points.back());
      continue;
    }
    const float x = stroke[i].x - 50 + hand.shake * static_cast<float>(random.Normal());
    const float y = stroke[i].y - 50 + hand.shake * static_cast<float>(random.Normal());
    points.push_back({hand.left + hand.xx * x + hand.xy * y, hand.top + hand.yx * x + hand.yy * y});
  }
  return points;
}

/// The Catmull-Rom curve between b and c at t in [0, 1].
Point Curve(const std::array<Point, 4>& p, float t) {
  const auto blend = [t](float a, float b, float c, float d) {
    return b + 0.5F * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  };
  return {blend(p[0].x, p[1].x, p[2].x, p[3].x), blend(p[0].y, p[1].y, p[2].y, p[3].y)};
}

/// Approximates the curve through the points by short line segments.
Points Flatten(const Points& points) {
  Points chain = {points.front()};
  const size_t last = points.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    if (points[i].x == points[i + 1].x && points[i].y == points[i + 1].y) continue;
    const std::array<Point, 4> around = {points[i > 0 ? i - 1 : 0], points[i], points[i + 1],
                                         points[std::min(i + 2, last)]};
    for (int step = 1; step <= kSteps; ++step)
      chain.push_back(Curve(around, static_cast<float>(step) / kSteps));
  }
  return chain;
}

/// Squared distances of all pixel centres to the drawing, within the pen's reach.
class Canvas {
 public:
  explicit Canvas(float reach) : reach_(reach) { squares_.fill(reach * reach); }

  void Draw(Point a, Point b) {
    const auto [x0, x1] = Span(a.x, b.x);
    const auto [y0, y1] = Span(a.y, b.y);
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float scale = 1 / std::max(dx * dx + dy * dy, 1e-6F);
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        const float px = x + 0.5F - a.x, py = y + 0.5F - a.y;
        const float t = std::clamp((px * dx + py * dy) * scale, 0.0F, 1.0F);
        const float ex = px - t * dx, ey = py - t * dy;
        float& square = squares_[y * kDigitSide + x];
        square = std::min(square, ex * ex + ey * ey);
      }
    }
  }

  float Distance(int pixel) const { return std::sqrt(squares_[pixel]); }

 private:
  std::pair<int, int> Span(float a, float b) const {
    const auto inside = [](float v) {
      return static_cast<int>(std::clamp<float>(v, 0, kDigitSide));
    };
    return {inside(std::min(a, b) - reach_), inside(std::max(a, b) + reach_ + 1)};
  }

  float reach_;
  std::array<float, kDigitPixels> squares_;
};

/// Roughly normal with standard deviation 1: the sum of the four 16-bit parts of one draw, centred.
float Grain(Random& random) {
  const uint64_t bits = random.Bits();
  const auto sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
  return (static_cast<float>(sum) / 65536.0F - 2.0F) * std::numbers::sqrt3_v<float>;
}

}  // namespace

int DrawDigit(const DigitKey& key, uint8_t* image) {
  Random random(
      {key.seed, Word(Draw::kSynthetic), key.test ? 2U : 1U, static_cast<uint64_t>(key.index)});
  const int digit = static_cast<int>(random.Below(10));
  const std::vector<Glyph>& glyphs = GlyphsOf(digit);
  const Glyph& glyph = glyphs[random.Below(glyphs.size())];
  const Hand hand = DrawHand(random);
  Canvas canvas(hand.radius + hand.softness);
  for (const Stroke& stroke : glyph) {
    const Points chain = Flatten(Place(stroke, hand, random));
    for (size_t i = 1; i < chain.size(); ++i) canvas.Draw(chain[i - 1], chain[i]);
  }
  for (int i = 0; i < kDigitPixels; ++i) {
    const float cover =
        std::clamp((hand.radius - canvas.Distance(i)) / hand.softness + 0.5F, 0.0F, 1.0F);
    const float value = hand.ink * cover + hand.noise * Grain(random);
    image[i] = static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
  }
  return digit;
}

}  // namespace yoke
