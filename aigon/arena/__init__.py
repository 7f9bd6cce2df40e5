"""The arena: several loops on one feature, side by side, each a process of its own."""
