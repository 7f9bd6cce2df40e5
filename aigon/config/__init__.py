"""The configuration: its models, where each value comes from, and its schemas."""
