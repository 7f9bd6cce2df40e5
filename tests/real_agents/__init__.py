"""The real programs, installed privately, against a scripted server on loopback: `nox -s real-agents`."""
