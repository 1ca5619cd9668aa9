"""Reading CasADi expressions: what a graph computes, what it encloses. Knows nothing of robots."""
