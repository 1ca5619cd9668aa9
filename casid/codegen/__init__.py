"""C code of CasADi functions: programs, operation counts, sources, compilation and its cache."""
