def low(products):
    return sorted((p for p in products if p.is_low), key=lambda p: p.amount)


def report(products):
    found = low(products)
    if not found:
        return "nothing is low"
    return "\n".join(f"{p.name}: {p.amount} left" for p in found)
