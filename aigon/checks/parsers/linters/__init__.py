"""Linters whose format is no list of lines: XML, SARIF, several linters in one output. The others are matchers."""
