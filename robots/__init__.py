"""The robots that ship with casid: one TOML file each."""
