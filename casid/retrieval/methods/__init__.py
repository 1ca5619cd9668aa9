"""Solution methods: one contract, `Direct` and the others."""
