"""The proof: what decides is frozen, put back, and run once more in a clean room.

Integrity rules, one file per rule, are in `integrity`.
"""
