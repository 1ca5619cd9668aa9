"""Motions: bases, trajectories, and their files."""
