"""Loads the compiled module."""
import os
import pathlib

# Where a launcher's processes find what speaks over its MPI, and what reads Parquet files: beside the program, not beside Python.
_folder = pathlib.Path(__file__).resolve().parent
for _programs in (_folder / "bin", _folder.parents[1] / "build/bin"):
    for _variable, _libraries in (("YOKE_MPI_LIBRARIES", "yoke-mpi"), ("YOKE_PARQUET_LIBRARY", "yoke-parquet/arrow.so")):
        if (_programs / _libraries).exists():
            os.environ.setdefault(_variable, str(_programs / _libraries))

# The OpenMP library reads this when it is loaded. Threads that wait long cost other programs their cores.
_briefly = not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
if _briefly:
    os.environ["GOMP_SPINCOUNT"] = "2000"
try:
    from yoke._yoke import (Diverged, Error, Examples, Job, UserError, data_facts_of_run, list, plan, register_strategy, report, resume,
                            simulate, take_warnings, train, version)
    from yoke._yoke import Model as LoadedModel
finally:
    if _briefly:
        del os.environ["GOMP_SPINCOUNT"]

__all__ = ["Diverged", "Error", "Examples", "Job", "LoadedModel", "UserError", "data_facts_of_run", "list", "plan", "register_strategy",
           "report", "resume", "simulate", "take_warnings", "train", "version"]
