"""Draws curves into a small SVG, in a panel or two beside each other."""
import math

WIDTH, HEIGHT, TOP, BOTTOM = 860, 470, 44, 112
EDGES = {1: [(56, 850)], 2: [(56, 426), (480, 850)]}  # left and right of one panel, of two
COLOURS = ["#1b6ca8", "#7fb2d9", "#c1440e", "#e0a030", "#3a7d44", "#7a4b9d", "#666666", "#a03008", "#b8b8b8", "#c08a10"]


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" {more}>{words}</text>'


def ticks(low, high, log):
    """Round values within a range: 1, 2 and 5 times the powers of ten, or about six in equal steps."""
    sizes = [m * 10**p for p in range(-6, 12) for m in (1, 2, 5)]
    if log:
        return [size for size in sizes if low <= size <= high]
    size = next(size for size in sizes if (high - low) / size <= 7)
    return [round(i * size, 6) for i in range(math.ceil(low / size), math.floor(high / size) + 1)]


def scale(low, high, first, last, log):
    """The place of a value between low and high."""
    of = math.log if log else float
    return lambda value: first + (last - first) * (of(max(value, low)) - of(low)) / (of(high) - of(low))


def curve(points, colour, dashed):
    """A line with a dot at each point, unless these are many."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in points) if len(points) < 50 else ""
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/><g fill="{colour}">{dots}</g>'


def panel(series, edges, colours, title, x_log, y_log, low, x_ticks, x_name, below):
    points = [point for one in series.values() for point in one]
    wide, high = (0.9, 1.1) if x_log else (1, 1), max(y for _, y in points)
    first, last = min(x for x, _ in points) * wide[0], max(x for x, _ in points) * wide[1]
    low = (min(y for _, y in points) * (0.85 if y_log else 1)) if low is None else low
    high = high * 1.15 if y_log else high + 0.02 * (high - low)
    x_of, y_of = scale(first, last, *edges, x_log), scale(low, high, HEIGHT - BOTTOM, TOP, y_log)
    lines = [text(edges[0], 36, title, "start", 'font-weight="bold"'), text(sum(edges) / 2, HEIGHT - BOTTOM + 34, below)]
    for x in x_ticks or ticks(first, last, x_log):
        lines += [f'<path d="M{x_of(x):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>', text(x_of(x), HEIGHT - BOTTOM + 16, x_name(x))]
    for y in ticks(low, high, y_log):
        lines += [f'<path d="M{edges[0]} {y_of(y):.1f}H{edges[1]}" stroke="#e4e4e4"/>', text(edges[0] - 5, y_of(y) + 4, f"{y:g}", "end")]
    return lines + [curve([(x_of(x), y_of(y)) for x, y in one], colours[name.removesuffix("*")], name.endswith("*"))
                    for name, one in series.items()]


def plot(panels, title, *, x_log=True, y_log=False, low=None, x_ticks=None, x_name="{:g}".format, below="", dashed=""):
    """The SVG's text. panels: at most two, {title: {name: [(x, y), ...]}}. A name that ends with * is the dashed twin of the one without,
    `dashed` says in which respect. Values under `low` are cut off."""
    names = list(dict.fromkeys(name.removesuffix("*") for series in panels.values() for name in series))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', text(56, 18, title, "start", 'font-weight="bold"')]
    for edges, (name, series) in zip(EDGES[len(panels)], panels.items()):
        lines += panel(series, edges, colours, name, x_log, y_log, low, x_ticks, x_name, below)
    for i, name in enumerate([*names, *([dashed] if dashed else [])]):
        x, y = 56 + 200 * (i % 4), HEIGHT - 52 + 20 * (i // 4)
        look = f'stroke="{colours[name]}" stroke-width="2"' if name in colours else 'stroke="#444" stroke-dasharray="5 4"'
        lines += [f'<path d="M{x} {y - 4}h26" {look}/>', text(x + 32, y, name, "start")]
    return "\n".join(lines + ["</svg>"]) + "\n"
