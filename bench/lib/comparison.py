"""A paper's values beside ours, as a table: what, the paper's, ours, their ratio, and whether it is within a factor of 1.5."""
from typing import NamedTuple

from lib.tables import print_table, say

CLOSE = 1.5


class Compared(NamedTuple):
    """A figure of a paper and ours. `note`: which table or section of the paper, or why they differ."""
    what: str
    paper: float
    ours: float | None
    form: str = ".2f"
    note: str = ""

    ratio = property(lambda self: self.ours / self.paper if self.ours is not None else None)
    close = property(lambda self: self.ours is not None and 1 / CLOSE <= self.ratio <= CLOSE)


def compare(figures, title="", notes=True):
    """Prints these figures, each as soon as it is there, and how many of them are within a factor of 1.5. notes: with a column of them."""
    seen, columns = [], ["figure", "paper", "ours", "ours / paper", *(["note"] if notes else [])]

    def rows():
        for figure in figures:
            seen.append(figure)
            cells = [figure.what, say(figure.paper, figure.form), say(figure.ours, figure.form, "none"), say(figure.ratio, ".2f"), figure.note]
            yield cells[:len(columns)]

    print_table(columns, rows(), title)
    print(f"\nWithin a factor of {CLOSE}: {sum(figure.close for figure in seen)} of {len(seen)}.", flush=True)
