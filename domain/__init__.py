"""Values and decisions: no clock, random, log, thread or I/O.

Reading order: `turn` (what is asked and what comes back), `plan` (what may be tried), `failure`
(what a failure means), `outcome` (what an invocation came to), `steps` (what is done next),
`contract` (what must be true of any turn).
"""
