"""`aigon feature-done`: merge what is proven, by merge, squash, rebase or pull request."""
