"""Consistent parameters straight from recordings, and the thesis's feasibility methods."""
