"""Coding agents: what their clients need in their settings, what their hooks get, and how their sessions are stored.

Open ``hook_service`` first: it answers the events of a client. ``hook`` is the command that a client calls; it runs
without the rest of the package. ``connections`` writes and takes back settings, ``clients`` lists the clients.
Invariants: a hook never breaks its client; a project's words never reach another project.
"""
