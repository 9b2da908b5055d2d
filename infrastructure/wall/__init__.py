"""A provider on loopback that misbehaves on script.

Read in the order: `answer` and `behaviour` (what it can do), `script` (to whom), `seen` (what
came), `dialect` (what bytes an answer is made of), `acts` and `play` (in which steps they leave),
`send` (how they leave a socket), `request`, `connection`, `server` (the wall).
"""
