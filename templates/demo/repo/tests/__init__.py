"""The tests of teatimer."""
