"""turnkeeper: exactly one answer to a chat turn, whatever fails on the way.

Reading order: `turnkeeper.interfaces` (the public names), `turnkeeper.application`
(`run_generation_turn` is the product), `turnkeeper.domain` (values and decisions),
`turnkeeper.infrastructure` (adapters).
"""
