"""Specs: from the bytes of a Markdown file to criteria, and from verdicts back to ticks.

markdown: tokens, sections, frontmatter; annotation: `<!-- verify: ... -->`, and what its command has to come to
criteria: the boxes and what decides them; settings: keys of the frontmatter that say how its feature is run
foreign: annotations of others as proposals; importers: specs of other tools; writing: a spec from parts
document: a spec as a whole, its ticks and annotations; features: names, stages, branches; files: specs in a checkout
"""
