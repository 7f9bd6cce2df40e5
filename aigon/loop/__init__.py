"""The loop: take a snapshot, assess it, prove it, decide, publish, let an agent act; ten lines in `loop`.

`take`, `assess`, `publish`, `turn` and `finish` are its steps; `decide` ends it, with one file of guards per cause in
`guards`. `judging` asks a judge. `prompt` and `feedback` are what an agent is told, `issues`, `iteration_log` and
`commit_message` what people read. `roll_back` returns to the best iteration, `drive` carries the events to records and
observers.
"""
