"""C code of CasADi functions: programs, operation counts, sources, compilation and its cache, evaluation."""

# evaluation
from casid.codegen._function import Function as Function
from casid.codegen._function import compile as compile
from casid.codegen._function import accumulate as accumulate

# compiler and cache
from casid.codegen._compiler import cache_directory as cache_directory
from casid.codegen._compiler import cache_entries as cache_entries
from casid.codegen._compiler import clear_cache as clear_cache
from casid.codegen._compiler import Program as Program
from casid.codegen._compiler import compile_shared as compile_shared
from casid.codegen._compiler import find_compiler as find_compiler
from casid.codegen._compiler import load_library as load_library
from casid.codegen._compiler import without_failure as without_failure

# sources
from casid.codegen._languages import script_source as script_source
from casid.codegen._source import Argument as Argument
from casid.codegen._source import CFunction as CFunction
from casid.codegen._source import batch_source as batch_source
from casid.codegen._source import check_identifier as check_identifier
from casid.codegen._source import identifier as identifier
from casid.codegen._source import scalar_source as scalar_source

# what a function costs
from casid.codegen._graph import Operations as Operations
from casid.codegen._graph import operation_count as operation_count

# between rooms
from casid.codegen._compiler import digest as digest
from casid.codegen._compiler import PREFIX as PREFIX
from casid.codegen._compiler import c_name as c_name
from casid.codegen._function import jacobian_rows as jacobian_rows
from casid.codegen._function import linked as linked
from casid.codegen._languages import LANGUAGES as LANGUAGES
from casid.codegen._source import WIDTH as WIDTH
