"""The one door for everything that is read or written: size limits, decoding, types, finite numbers, short messages.

Readers take the path, ``what`` the file is in a user's words, and the class of ``error`` to raise; a file that cannot
be used raises that error with one line that names the file, what is wrong and, where it helps, what to do. Writers put
content beside its final place first, flush it to disk and rename it, so that no file is ever half-written.
"""

from casid.files.arrays import matlab_arrays, npy_array, npz_arrays, numeric_array
from casid.files.csvs import CsvTable, csv_bytes, csv_table
from casid.files.jsons import finite_number, json_bytes, parse_json, read_json
from casid.files.limits import decode, gunzip, read_bytes, read_text, unzip
from casid.files.table import Table
from casid.files.toml import parse_toml, read_toml
from casid.files.words import listed, near, reason, shown
from casid.files.write import check_target, prepare_directory, write_directory, write_files
from casid.files.xml import parse_xml, read_xml

__all__ = [
    "CsvTable",
    "Table",
    "check_target",
    "csv_bytes",
    "csv_table",
    "decode",
    "finite_number",
    "gunzip",
    "json_bytes",
    "listed",
    "matlab_arrays",
    "near",
    "npy_array",
    "npz_arrays",
    "numeric_array",
    "parse_json",
    "parse_toml",
    "parse_xml",
    "prepare_directory",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "read_xml",
    "reason",
    "shown",
    "unzip",
    "write_directory",
    "write_files",
]
