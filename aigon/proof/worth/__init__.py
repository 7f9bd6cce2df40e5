"""What new tests are worth, and what comments hide from checkers: measured on altered copies of the tree, in a room."""
