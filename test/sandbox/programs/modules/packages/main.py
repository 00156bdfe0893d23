from shop import __version__
from shop.orders import total
import shop.orders.tax as tax


def main():
    return {"total": total([1, 2]), "version": __version__, "tax": tax.RATE, "files": [tax.__file__, tax.__package__, tax.__name__]}
