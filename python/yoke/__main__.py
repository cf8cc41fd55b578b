"""`python -m yoke` is the command line: it becomes the program that the package brings along."""
import os
import sys

from yoke._program import program

os.execv(program(), ["yoke", *sys.argv[1:]])
