"""Agents: who works on a feature, whether it can, and how its program is started and read.

Adapters, one file per agent, are in `adapters`; the agent that is built in is the program in `api_agent`.
"""
