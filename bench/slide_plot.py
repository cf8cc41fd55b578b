"""Draws curves into a small SVG with a logarithmic axis of time or of another number, for slide_accuracy.py and momentum_groups.py."""
import math

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 40, 44
COLOURS = ["#1b6ca8", "#7fb2d9", "#c1440e", "#e0a030", "#3a7d44", "#7a4b9d", "#666666"]
DASHES = ["", "", "", "6 4", "2 3", "6 4", ""]


def ticks(low, high):
    """1, 2 and 5 times the powers of ten within a range."""
    return [m * 10**p for p in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)
            if low <= m * 10**p <= high]


def steps(low, high):
    """Round values between low and high, about six."""
    size = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / s <= 7)
    return [round(i * size, 3) for i in range(math.ceil(low / size), math.floor(high / size) + 1)]


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" {more}>{words}</text>'


def frame(x_of, y_of, x_ticks, y_ticks, title, below):
    """The lines and words around the curves."""
    lines = [text(LEFT, 20, title, "start", 'font-weight="bold"'),
             text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, below)]
    for t in x_ticks:
        lines += [f'<path d="M{x_of(t):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>',
                  text(x_of(t), HEIGHT - BOTTOM + 16, f"{t:g}")]
    for t in y_ticks:
        lines += [f'<path d="M{LEFT} {y_of(t):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>', text(LEFT - 6, y_of(t) + 4, f"{t:.2f}", "end")]
    return lines


def curve(points, x_of, y_of, index):
    """One series: a line with a dot at each point."""
    places = [(x_of(x), y_of(y)) for x, y in points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    colour = COLOURS[index % len(COLOURS)]
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in places)
    return (f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{DASHES[index % len(DASHES)]}"/>'
            f'<g fill="{colour}">{dots}</g>')


def legend(names):
    """The names of the series, in the lower right corner."""
    lines = []
    for i, name in enumerate(names):
        y = HEIGHT - BOTTOM - 14 - 17 * (len(names) - 1 - i)
        lines += [f'<path d="M{WIDTH - 230} {y - 4}h26" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2" '
                  f'stroke-dasharray="{DASHES[i % len(DASHES)]}"/>', text(WIDTH - 198, y, name, "start")]
    return lines


def plot(series, title, low=None, x_ticks=None, below="seconds of training (evaluation left out)"):
    """The SVG's text. series: {name: [(seconds, value), ...]}. Values under `low` are cut off."""
    points = [p for one in series.values() for p in one]
    low = min(y for _, y in points) if low is None else low
    high = max(y for _, y in points) + 0.01
    first, last = min(x for x, _ in points) * 0.9, max(x for x, _ in points) * 1.1

    def x_of(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / first) / math.log(last / first)

    def y_of(y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (max(y, low) - low) / (high - low)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    lines += frame(x_of, y_of, x_ticks or ticks(first, last), steps(low, high), title, below)
    lines += [curve(one, x_of, y_of, i) for i, one in enumerate(series.values())]
    return "\n".join(lines + legend(series) + ["</svg>"]) + "\n"
