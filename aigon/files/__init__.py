"""Files: written whole or not at all, locked, bounded, and where aigon keeps its own."""
