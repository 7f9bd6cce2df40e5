"""The pages of `aigon ui`."""
