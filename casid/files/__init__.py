"""The one door for everything that is read or written: size limits, decoding, types, finite numbers, short messages.

Readers take the path, ``what`` the file is in a user's words, and the class of ``error`` to raise; a file that cannot
be used raises that error with one line that names the file, what is wrong and, where it helps, what to do. Writers put
content beside its final place first, flush it to disk and rename it, so that no file is ever half-written.

The names below are loaded when first used: commands that only word something do without numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casid.files._write import journal as journal
    from casid.files._write import journal_lines as journal_lines
    from casid.files._read import data_limit as data_limit
    from casid.files._read import decode as decode
    from casid.files._read import exists as exists
    from casid.files._read import gunzip as gunzip
    from casid.files._read import matlab_arrays as matlab_arrays
    from casid.files._read import npy_array as npy_array
    from casid.files._read import npz_arrays as npz_arrays
    from casid.files._read import numeric_array as numeric_array
    from casid.files._read import read_bytes as read_bytes
    from casid.files._read import read_text as read_text
    from casid.files._read import too_large as too_large
    from casid.files._read import unzip as unzip
    from casid.files._read import Table as Table
    from casid.files._read import csv_bytes as csv_bytes
    from casid.files._read import csv_table as csv_table
    from casid.files._read import CsvTable as CsvTable
    from casid.files._read import finite_number as finite_number
    from casid.files._read import open_end as open_end
    from casid.files._read import json_bytes as json_bytes
    from casid.files._read import parse_json as parse_json
    from casid.files._read import parse_toml as parse_toml
    from casid.files._read import read_json as read_json
    from casid.files._read import read_toml as read_toml
    from casid.files._words import assignments as assignments
    from casid.files._words import comma_list as comma_list
    from casid.files._words import comma_numbers as comma_numbers
    from casid.files._words import filled as filled
    from casid.files._words import listed as listed
    from casid.files._words import near as near
    from casid.files._words import number_list as number_list
    from casid.files._words import reason as reason
    from casid.files._words import shown as shown
    from casid.files._words import template as template
    from casid.files._write import check_target as check_target
    from casid.files._write import flush as flush
    from casid.files._write import prepare_directory as prepare_directory
    from casid.files._write import write_directory as write_directory
    from casid.files._write import write_files as write_files


def __getattr__(name: str) -> object:
    for module in ("words", "write", "read"):
        place = import_module(f"casid.files._{module}")
        if name in vars(place):
            return vars(place)[name]
    raise AttributeError(f"module 'casid.files' has no attribute '{name}'")
