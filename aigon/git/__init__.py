"""git: the person's own, and aigon's own, which runs nothing that an agent could have planted."""
