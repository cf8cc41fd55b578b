"""Loads the compiled module."""
import os

# The OpenMP library reads this when it is loaded. Threads that wait long cost other programs their cores.
_briefly = not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
if _briefly:
    os.environ["GOMP_SPINCOUNT"] = "2000"
try:
    from yoke._yoke import Diverged, Error, Examples, Job, UserError, list, plan, report, resume, simulate, task_of_run, train, version
    from yoke._yoke import Model as LoadedModel
finally:
    if _briefly:
        del os.environ["GOMP_SPINCOUNT"]

__all__ = ["Diverged", "Error", "Examples", "Job", "LoadedModel", "UserError", "list", "plan", "report", "resume", "simulate", "task_of_run",
           "train", "version"]
