"""Values that everything else speaks of: frozen, and without any access to the world."""
