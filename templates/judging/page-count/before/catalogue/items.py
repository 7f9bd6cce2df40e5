ITEMS = ["lamp", "chair", "table"]


def sorted_items():
    return sorted(ITEMS)
