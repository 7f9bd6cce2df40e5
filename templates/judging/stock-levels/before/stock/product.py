from dataclasses import dataclass


@dataclass
class Product:
    name: str
    amount: int
