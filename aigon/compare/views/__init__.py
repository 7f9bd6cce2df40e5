"""An evaluation for the terminal, as a page and as data."""
