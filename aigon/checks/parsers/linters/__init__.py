"""Linters, compilers and builds whose format is no list of lines. The others are matchers; `jvm` and `dotnet` also read
reports of tests."""
