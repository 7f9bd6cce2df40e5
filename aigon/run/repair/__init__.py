"""`aigon doctor --repair`: rebuild damaged records from what is intact.

repair   go over all records of a repository
records  rebuild one record, journal or view
"""
