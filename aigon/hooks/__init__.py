"""Hooks and notifications: programs of the project that are told what happens in a run.

hook           which hooks there are
execution      how one runs, and what it is told
hooked_loop    the loop with hooks around it
notifications  services, webhooks and programs that are told how a run ended
services       the desktop, and services that apprise knows
"""
