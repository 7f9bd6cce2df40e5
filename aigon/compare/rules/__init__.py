"""Facts come in, a proposal with reasons goes out. Pure.

facts       what is known of one candidate
gates       what a candidate has to show before anything else counts
order       the measures after the gates, the order, and who dominates whom
evaluation  strengths, weaknesses and the proposal
"""
