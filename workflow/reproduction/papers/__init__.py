"""Papers: what only one of them needs, in a folder of its own, and the rules all are judged by."""
