"""The console: a page in the browser, and the REST operations on which it is built.

Open ``operations.py`` first: the operations of the console, in addition to the seven tools. ``results.py`` has the
plain forms of its answers, ``pages.py`` the routes of the page. The page itself is in ``server/assets/console``. This
room never knows a store or a model.
"""
