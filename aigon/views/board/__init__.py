"""The board: features by stage."""
