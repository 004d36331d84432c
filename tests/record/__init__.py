"""A record of public answers, so that a change of the internals changes no number unseen.

``calls_*`` declare the calls, ``answers`` has what each answered, ``test_record`` runs them all, and
``python -m tests.record`` records them again and prints what changed.
"""
