"""Use cases and ports: orders effects, never chooses policy.

Reading order: `run_generation_turn` (the product), `plan_turn`, `run_invocation`, `conclude_turn`,
then `ports` (what the outside must be able to do).
"""
