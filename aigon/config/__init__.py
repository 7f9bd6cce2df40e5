"""The configuration: what it may say, how it is read, and its JSON Schemas.

models     the sections of config.json
sections   read by the types of their fields; errors in words
loading    read, merge and check the project's files and the person's; the JSON Schemas for editors
endpoints  the key `endpoints`, with `${name}` and `$.path` in requests and answers
grants     what a sandbox grants
prices     list prices of models
"""
