"""A cache folder of each test's own."""

from tests.export.conftest import own_cache as own_cache
