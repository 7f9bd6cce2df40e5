"""The configuration: what it may say, how it is read, and its JSON Schemas.

models                the sections of config.json
sections              read by the types of their fields; errors in words
loading               read, merge and check the two files; the JSON Schemas for editors
endpoints             the key `endpoints`, with `${name}` and `$.path` in requests and answers
grants                what a sandbox grants
prices, price_tables  list prices of models, and where they come from
"""
