"""The loop: take a snapshot, assess it, prove it, decide, publish, let an agent act; ten lines in `loop`.

`take`, `assess`, `publish`, `turn` and `finish` are its steps; `decide` ends it, by `guards`. `judging`
asks a judge. `prompt` and `feedback` are what an agent is told, `issues` and `iteration_log` (with the message of the
commit) what people read. `roll_back` returns to the best iteration, `loop` also carries the events to records and
observers.
"""
