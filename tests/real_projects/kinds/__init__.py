"""The kinds: one file each, holding `KIND`."""
