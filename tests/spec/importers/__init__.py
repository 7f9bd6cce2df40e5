"""Importers of specs that other tools wrote."""
