"""How proposals are made for open criteria: from their words, from what a project has, and by a model."""
