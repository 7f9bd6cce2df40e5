"""The journal: typed events, the state that they add up to, and the views that are made of it."""
