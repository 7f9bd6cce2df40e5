"""The real programs, installed privately, against a scripted server on loopback: `make real-agents`."""
