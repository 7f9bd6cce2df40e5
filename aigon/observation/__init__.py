"""Observe which tracked files and folders a command reads: by their access times, else by strace."""
