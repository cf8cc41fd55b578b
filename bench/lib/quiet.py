"""Measurements on a machine that others use, too: repeated until they were alone, as far as /proc/stat tells."""
import os
import pathlib
import time

from lib.runner import QUICK, processor_seconds

LEAST = 0.03  # of the processors: less does not count
MOST_TRIES = 6
LONGEST_WAIT, GLANCE = 20, 0.3  # seconds


def busy_seconds():
    """Of all processors, since the machine started."""
    ticks = list(map(int, pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]))
    user, nice, system, _, _, irq, softirq, steal = ticks[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Of this process and its children that have ended."""
    return time.process_time() + processor_seconds()


def with_others(measure):
    """What `measure` returns, and the fraction of the processors that others used meanwhile."""
    began, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    result = measure()
    return result, ((busy_seconds() - busy) - (own_seconds() - own)) / os.cpu_count() / (time.monotonic() - began)


def await_quiet():
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until and with_others(lambda: time.sleep(GLANCE))[1] > 2 * LEAST:
        pass


def alone(measure):
    """What `measure` returns; called again where others used the processors meanwhile. Takes the quietest if that happens every time."""
    if QUICK:
        return measure()
    results = []
    for _ in range(MOST_TRIES):
        await_quiet()
        results.append(with_others(measure))
        if results[-1][1] < LEAST:
            break
    return min(results, key=lambda one: one[1])[0]
