"""Many features and agents over machines that share a git remote, on Dask distributed.

lease    who may publish the work of a cell: a chain of commits on the remote; what a worker is told of it, and answers
cell     the work on one cell, on a worker
plan     cells of the features and agents that a person names, made ready on the remote; the note of the last fleet
cluster  Dask: the scheduler, workers and their labels
fleet    run all cells under one limit
"""
