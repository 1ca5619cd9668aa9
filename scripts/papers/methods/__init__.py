"""Methods of feasible identification from the literature, each a real implementation, beside this library's."""
