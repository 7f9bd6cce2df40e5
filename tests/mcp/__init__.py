"""Tests of `aigon mcp`, with the SDK's own client."""
