"""C code of CasADi functions: programs, operation counts, sources, compilation and its cache, evaluation."""

# evaluation
# compiler and cache
from casid.codegen._cache import cache_directory as cache_directory
from casid.codegen._evaluate import evaluate_batch as evaluate_batch

# what a function costs
from casid.codegen._simplify import operation_count as operation_count
