"""Processes: run to their exit, captured, bounded in time, and none left behind."""
