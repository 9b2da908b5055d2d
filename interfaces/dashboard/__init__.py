"""The pages for operators: what turns did, drawn. They only read.

Reading order: `app` (which page is asked for, and by whom), `gate` (who may), `pages` (what a page
shows), `drawing` (where it stands on its line of time), `render` (how it becomes HTML).
"""
