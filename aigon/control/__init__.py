"""The negative control: tests and commands whose expected value is changed, so that they have to fail.

What passes all the same was not decided by the code.
"""
