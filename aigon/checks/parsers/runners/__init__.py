"""Test runners: their reports and their text as counts, failures and results by test id."""
