"""Comparing the candidates of a feature on the same evidence. Pure: facts come in, a proposal with reasons goes out."""
