"""Facts come in, a proposal with reasons goes out. Pure.

facts       what is known of one candidate
order       the gates, the measures after them, the order, and who dominates whom
evaluation  strengths, weaknesses and the proposal
"""
