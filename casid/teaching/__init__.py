"""Annex: equations of motion with symbols for lengths and masses, as SymPy and LaTeX."""

from casid.teaching._symbolic import SymbolicDynamics as SymbolicDynamics
from casid.teaching._symbolic import symbolic as symbolic
