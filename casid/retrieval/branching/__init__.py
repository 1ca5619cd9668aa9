"""If-else and either-or: branches, their enumeration and smoothing, the paper's penalty."""
