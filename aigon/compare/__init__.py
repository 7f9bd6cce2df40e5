"""The comparison of candidates on equal evidence: gates, then one measure after the other."""
