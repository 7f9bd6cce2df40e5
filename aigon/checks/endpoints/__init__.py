"""The check `endpoints`: what a server is asked, what it has to answer, and the program that asks."""
