"""The job: what a run is about and where it works, decided before any agent starts."""
