"""C code of CasADi functions: programs, operation counts, sources, compilation and its cache, batched evaluation."""

from casid.codegen.accumulate import accumulate
from casid.codegen.batch import evaluate_batch, evaluate_blocks
from casid.codegen.bound import bound_batch
from casid.codegen.cache import CacheEntry, cache_directory, cache_entries, clear_cache
from casid.codegen.compiler import compile_shared, find_compiler
from casid.codegen.operations import Operations
from casid.codegen.simplify import operation_count
from casid.codegen.source import CFunction, batch_source, check_identifier, identifier, scalar_source

__all__ = [
    "CFunction", "CacheEntry", "Operations", "accumulate", "batch_source", "bound_batch", "cache_directory",
    "cache_entries", "check_identifier", "clear_cache", "compile_shared", "evaluate_batch", "evaluate_blocks",
    "find_compiler", "identifier", "operation_count", "scalar_source",
]  # fmt: skip
