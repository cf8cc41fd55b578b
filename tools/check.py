"""What the checks of the house's rules share: their command line and how they end."""
import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(doc, offences, self_test, holds):
    """Ends the program: prints the lines of offences(ROOT), or `holds` where there are none; self_test() if asked."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="see that each kind of offence is found")
    if parser.parse_args().self_test:
        sys.exit(self_test())
    found = list(offences(ROOT))
    print("\n".join(found) or holds)
    sys.exit(1 if found else 0)
