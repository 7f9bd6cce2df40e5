"""Build tools: what compilers said, or why the build stopped. `jvm` and `dotnet` also read reports of tests."""
