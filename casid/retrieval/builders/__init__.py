"""Constraints and priors for what is commonly known of a link."""
