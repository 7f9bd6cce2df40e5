"""The verbs `feature-...`, one file each."""
