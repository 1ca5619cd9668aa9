"""C code of CasADi functions: programs, operation counts, sources, compilation and its cache, evaluation."""

from typing import TYPE_CHECKING

from casid import _earlier

# evaluation
# compiler and cache
from casid.codegen._cache import cache_directory as cache_directory
from casid.codegen._evaluate import evaluate_batch as evaluate_batch

# what a function costs
from casid.codegen._simplify import operation_count as operation_count

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
