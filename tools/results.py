"""Reads what tools/test has left of its runs of a preset: tests, and of each the cases with their outcome and reason."""
import dataclasses
import pathlib
import re
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Case:
    name: str
    outcome: str  # passed, failed, skipped
    reason: str = ""
    seconds: float | None = None


@dataclasses.dataclass
class Test:
    """What ctest starts once: a program, a script, or a tool."""
    name: str
    seconds: float
    cases: list[Case]


def presets():
    """Those that have run tests."""
    return sorted({path.parent.parent.name for path in (ROOT / "build").glob("*/results/*.xml")})


def runs(preset):
    """The files of a preset's runs, the newest last."""
    return sorted((ROOT / "build" / preset / "results").glob("*.xml"), key=lambda path: int(path.stem))


def read_tests(run):
    build = run.parent.parent
    for test in xml.parse(run).getroot().iter("testcase"):
        name, output = test.get("name"), test.findtext("system-out") or ""
        skipped, failed = test.find("skipped"), test.get("status") == "fail"
        if skipped is not None:
            by_itself = skipped.get("message").startswith("SKIP_")  # else it could not be started
            cases = [Case(name, "skipped" if by_itself else "failed", last_line(output))]
        else:
            cases = cases_of(name, output, failed, build / "tests" / "times" / f"{name}.xml")
            if failed and not any(case.outcome == "failed" for case in cases):
                cases.append(Case(name, "failed", "ended early"))
        if cases and all(case.outcome == "skipped" for case in cases):
            for case in cases:
                case.reason = f"all of this test was skipped: {case.reason}"
        yield Test(name, float(test.get("time")), cases)


def cases_of(name, output, failed, timed):
    if "[==========]" in output:
        return [*timed_cases(timed)] if timed.exists() and " ran. (" in output else [*launched_cases(name, output)]
    if ran := re.search(r"^Ran (\d+) tests? in ", output, re.M):
        return [*script_cases(name, output, int(ran[1]))]
    if checks := re.search(r"^(\d+) passed, \d+ failed$", output, re.M):  # the contract
        broken = re.findall(r"^\w+ +(\w+) .* FAILED +(.*)", output, re.M)
        return [*(Case(f"{name}: {what}", "failed", why) for what, why in broken), *[Case(name, "passed")] * int(checks[1])]
    left_out = [Case(name, "skipped", line) for line in output.splitlines() if "left out" in line]
    return [*left_out, Case(name, "failed", last_line(output)) if failed else Case(name, "passed")]


def timed_cases(path):
    """Those of a program that writes a file of them, which is named as the test: kernels.unit.2, kernels.avx2."""
    program = re.sub(r"\.(unit|data|gpu|slow)(\.\d+)?$", "", path.stem)
    for case in xml.parse(path).getroot().iter("testcase"):
        if case.get("status") == "run":
            skipped, failure = case.find("skipped"), case.find("failure")
            outcome = "failed" if failure is not None else "skipped" if skipped is not None else "passed"
            reason = "" if skipped is None else skipped.get("message").split("\n", 1)[-1]
            yield Case(f"{program}: {case.get('classname')}.{case.get('name')}", outcome, reason, float(case.get("time")))


def launched_cases(name, output):
    """Those of a program that several ranks run: counted once."""
    reasons = re.findall(r": Skipped\n(.+)", output)
    for outcome in ("passed", "failed", "skipped"):
        found = re.search(rf"\[ +{outcome.upper()} +\] (\d+) tests?[.,]", output)
        for _ in range(int(found[1]) if found else 0):
            yield Case(name, outcome, "; ".join(dict.fromkeys(reasons)) if outcome == "skipped" else "")


def script_cases(name, output, ran):
    """Those of a unittest script, which is run with -v."""
    place = r"\w+ \((?:__main__\.)?([\w.]+)\)"  # test_method (__main__.Class.test_method)
    before = r"(?:(?!\.\.\.).)*"
    skipped = dict(re.findall(rf"^ *{place}{before}(?:\n{before})?\.\.\. skipped ['\"](.*)['\"]$", output, re.M))
    failed = dict.fromkeys(re.findall(rf"^(?:FAIL|ERROR): {place}", output, re.M))
    for case in failed:
        yield Case(f"{name}: {case}", "failed")
    for case, reason in skipped.items():
        yield Case(f"{name}: {case}", "skipped", reason)
    for _ in range(ran - sum(".test_" in case for case in {*failed, *skipped})):  # not setUpClass
        yield Case(name, "passed")


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]
