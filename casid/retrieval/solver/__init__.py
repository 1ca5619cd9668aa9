"""IPOPT, the fast way for data that determine everything, conflicts, and bounds of nonconvex problems."""
