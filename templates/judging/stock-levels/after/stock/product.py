from dataclasses import dataclass

LEVEL = 5


@dataclass
class Product:
    name: str
    amount: int
    level: int = LEVEL

    @property
    def is_low(self):
        return self.amount <= 0 or self.amount < self.level
