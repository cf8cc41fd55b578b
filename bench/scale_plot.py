"""Draws the plots of how_to_scale.py and simulate_scale.py: something over the number of nodes, a panel or two."""
import math

from slide_plot import text, ticks

WIDTH, HEIGHT, TOP, BOTTOM = 860, 470, 44, 92
EDGES = {1: [(52, 850)], 2: [(52, 426), (476, 850)]}  # of one panel and of two: left, right
COLOURS = {"allreduce": "#1b6ca8", "allreduce, halving": "#7fb2d9", "gossip_pull": "#c1440e", "gossip_push": "#e0a030",
           "local_sgd": "#3a7d44", "easgd_async": "#3a7d44", "async_sgd": "#7a4b9d"}


def logarithmic(low, high, first, last):
    """The place of a value between low and high."""
    return lambda value: first + (last - first) * math.log(value / low) / math.log(high / low)


def axes(x_of, y_of, edges, all_nodes, seconds, title):
    """The lines and words around one panel's curves."""
    left, right = edges
    lines = [text(left, 34, title, "start", 'font-weight="bold"'), text((left + right) / 2, HEIGHT - BOTTOM + 34, "nodes")]
    for nodes in all_nodes:
        lines += [f'<path d="M{x_of(nodes):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#e4e4e4"/>',
                  text(x_of(nodes), HEIGHT - BOTTOM + 16, nodes)]
    for second in seconds:
        lines += [f'<path d="M{left} {y_of(second):.1f}H{right}" stroke="#e4e4e4"/>', text(left - 5, y_of(second) + 4, f"{second:g}", "end")]
    return lines


def curve(points, x_of, y_of, colour, dashed):
    places = [(x_of(nodes), y_of(seconds)) for nodes, seconds in points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2 if dashed else 3}"/>' for x, y in places)
    return (f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{1.3 if dashed else 2.2}"{dash}/>'
            f'<g fill="{colour}">{dots}</g>')


def panel(curves, edges, title):
    points = [point for one in curves.values() for point in one]
    all_nodes = sorted({nodes for nodes, _ in points})
    low, high = min(seconds for _, seconds in points) * 0.85, max(seconds for _, seconds in points) * 1.15
    x_of = logarithmic(all_nodes[0], all_nodes[-1], edges[0] + 12, edges[1] - 12)
    y_of = logarithmic(low, high, HEIGHT - BOTTOM, TOP)
    lines = axes(x_of, y_of, edges, all_nodes, ticks(low, high), title)
    return lines + [curve(one, x_of, y_of, COLOURS[method], slow) for (method, slow), one in curves.items()]


def legend(names):
    lines, wide = [], (WIDTH - 60) / 4
    for i, method in enumerate(names):
        x, y = 52 + wide * (i % 4), HEIGHT - 34 + 20 * (i // 4)
        style = f'stroke="{COLOURS[method]}" stroke-width="2.2"' if method in COLOURS else 'stroke="#444" stroke-dasharray="5 4"'
        lines += [f'<path d="M{x:.0f} {y - 4}h26" {style}/>', text(x + 32, y, method, "start")]
    return lines


def draw(panels, title):
    """The SVG's text. panels: at most two, {title: {(method, slow): [(nodes, seconds), ...]}}."""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(52, 15, title, "start", 'font-weight="bold"')]
    for edges, (name, curves) in zip(EDGES[len(panels)], panels.items()):
        lines += panel(curves, edges, name)
    drawn = [key for curves in panels.values() for key in curves]
    names = [*dict.fromkeys(method for method, _ in drawn), *(["one node half as fast"] if any(slow for _, slow in drawn) else [])]
    return "\n".join(lines + legend(names) + ["</svg>"]) + "\n"
