"""Agents: who works on a feature, whether it can, and how its program is started and read.

anthropic_api     the Anthropic API as the built-in agent and the judge call it
configured        find agents and agent types by name
credentials       the environment that an agent sees, and logins
health            versions and readiness of every agent
install_commands  write commands where agents read theirs
obstacles         what keeps an agent from working, and the agent of a run that names none
adapters/         one file per agent; api_agent/ is the built-in agent, a program of its own
"""
