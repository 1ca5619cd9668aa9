"""Many starts of one problem or of several: in memory, or streamed to a file that a killed study continues."""
