"""Tests for criteria before the work: an agent writes them, aigon shows by running what they are worth."""
