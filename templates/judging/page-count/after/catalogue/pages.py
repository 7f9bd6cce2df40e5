def page_count(items, per_page):
    """How many pages `items` things take."""
    if per_page < 1:
        raise ValueError(f"a page holds at least one item, not {per_page}")
    return items // per_page + 1
