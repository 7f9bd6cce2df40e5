"""`aigon feature-eval`: the comparison of candidates on equal evidence: gates, then one measure after the other.

evaluation   the whole comparison, and the facts on one candidate;  file  what is kept of it
facts, order, proposal   pure: the facts on a candidate, gates and measures, strengths and who is proposed
new_tests    the tests that a candidate added, on the base and on the work of others
bench        clean rooms in which tests run;  stand  the files that the tests of one candidate run with
pairwise     a judge, asked in both orders and without names
table        the evaluation as Markdown, for the terminal and for scripts
"""
