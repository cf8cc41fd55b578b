"""The tables of how_to_scale.py."""
import math

from conditions import heading, row

TITLES = {"fast": "100 Gbit/s, 5 us", "thin": "1 Gbit/s, 50 us"}


def select(measured, **wanted):
    """By (method, nodes), those with these properties."""
    return {(one["method"], one["nodes"]): one for one in measured if all(one[key] == value for key, value in wanted.items())}


def methods_of(measured):
    return list(dict.fromkeys(one["method"] for one in measured))


def nodes_of(measured):
    return sorted({one["nodes"] for one in measured})


def table(measured, first, cell, methods=None):
    """Methods down, nodes across; cell(method, nodes) is text, or None where there is nothing."""
    all_nodes = nodes_of(measured)
    print("\n" + heading([first, *all_nodes]))
    for method in methods or methods_of(measured):
        print(row([method, *(cell(method, nodes) or "-" for nodes in all_nodes)]))


def figure(value, form):
    return "-" if value is None or math.isinf(value) else form.format(value)


def times(measured, network):
    equal, slow = select(measured, network=network, slow=False), select(measured, network=network, slow=True)

    def cell(method, nodes):
        pair = [one.get((method, nodes), {}).get("seconds") for one in (equal, slow)]
        fastest = min((one["seconds"] for (_, n), one in equal.items() if n == nodes), default=None)
        text = figure(pair[0], "{:.3g}")
        return f"{f'**{text}**' if pair[0] == fastest else text} / {figure(pair[1], '{:.3g}')}"

    table(measured, f"{TITLES[network]}: virtual seconds, equal nodes / one slow", cell)


def print_tables(measured, checked, after_cuts):
    """`measured`: of how_to_scale.measure; `checked`: passes by (method, nodes, network, slow); `after_cuts`: accuracy by (method, nodes)."""
    networks = list(dict.fromkeys(one["network"] for one in measured))
    for network in networks:
        times(measured, network)
    fast = select(measured, network="fast", slow=False)
    ways = [method for method in methods_of(measured) if "," not in method]

    def passes(method, nodes):
        values = fast[method, nodes]["passes"] if (method, nodes) in fast else [math.inf]
        spread = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
        return figure(max(values), f"{sum(values) / len(values):.1f}{spread}")

    table(measured, "passes over the data, mean (least to most)", passes, ways)
    table(measured, "learning rate", lambda method, nodes: (method, nodes) in fast and f"{fast[method, nodes]['rate']:g}", ways)

    def step_seconds(one):
        return 1e3 * one["epoch_seconds"] * 16 * one["nodes"] / 60000

    for network in networks:
        equal = select(measured, network=network, slow=False)
        table(measured, f"{TITLES[network]}: ms a step of all nodes", lambda method, nodes, equal=equal: (method, nodes) in equal
              and f"{step_seconds(equal[method, nodes]):.3g}")
    slow = select(measured, network="fast", slow=True)

    def lost(method, nodes):
        return (method, nodes) in slow and f"{100 * (1 - fast[method, nodes]['epoch_seconds'] / slow[method, nodes]['epoch_seconds']):.1f} %"

    table(measured, "throughput lost by one slow node", lost)
    print(row(["1 / p", *(f"{100 / nodes:.1f} %" for nodes in nodes_of(measured))]))

    def sent(method, nodes):
        return (method, nodes) in fast and f"{fast[method, nodes]['models_sent']:.3f}"

    table(measured, "models that a node sends in a step, meetings included", sent, ways)
    print(row(["2 (p - 1) / p", *(f"{2 * (nodes - 1) / nodes:.3f}" for nodes in nodes_of(measured))]))

    def apart(method, nodes):
        return (method, nodes) in fast and f"{fast[method, nodes]['consensus']:.3f}"

    table(measured, "distance of a replica from the mean, at the target", apart,
          [method for method in ways if method.startswith(("gossip", "easgd"))])
    print_checks(measured, checked)
    print_cuts(after_cuts)


def print_checks(measured, checked):
    """Passes with seed 1 in each condition."""
    where = sorted({(network, slow) for _, _, network, slow in checked})
    titles = [f"{TITLES[network]}{', one slow' if slow else ''}" for network, slow in where]
    fast = select(measured, network="fast", slow=False)
    print("\n" + heading(["passes", "nodes", TITLES["fast"], *titles]))
    for method, nodes in dict.fromkeys((method, nodes) for method, nodes, _, _ in checked):
        here = [figure(checked[method, nodes, *place], "{:.1f}") for place in where]
        print(row([method, nodes, figure(fast[method, nodes]["passes"][0], "{:.1f}"), *here]))


def print_cuts(after_cuts):
    all_nodes = sorted({nodes for _, nodes in after_cuts})
    print("\n" + heading(["accuracy after two cuts of the rate", *all_nodes]))
    for method in dict.fromkeys(method for method, _ in after_cuts):
        print(row([method, *(f"{after_cuts[method, nodes]:.4f}" for nodes in all_nodes)]))


def series(measured, network):
    """Curves to draw: {(method, slow): [(nodes, seconds), ...]}."""
    curves = {}
    for one in measured:
        if one["network"] == network and not math.isinf(one["seconds"]):
            curves.setdefault((one["method"], one["slow"]), []).append((one["nodes"], one["seconds"]))
    return {key: sorted(points) for key, points in curves.items()}
