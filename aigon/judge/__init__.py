"""Judges: what is asked, which quotes count, what a verdict needs.

question, selection     what a judge is shown and asked
reply                   its reply, read strictly
quotes                  whether a quote is at the place that it names, and more than words
judgement               from questions and answers to verdicts
backends/               which judge, and how it is asked: one file per judge
accuracy                how often a judge is right, on changes of which the truth is known
"""
