"""The tests of aigon: real git repositories, real processes; the only fake is the agent or the model."""
