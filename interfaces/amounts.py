"""Amounts as people and programs read them."""

from decimal import Decimal


def in_full(amount: Decimal | None) -> str:
    """An amount without an exponent, and without needless zeros; ``unknown`` for None."""
    if amount is None:
        return "unknown"
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_dollars(amount: Decimal | None) -> str:
    """The same in US dollars, such as ``$0.0041``."""
    return in_full(amount) if amount is None else f"${in_full(amount)}"


def count(tokens: int | None) -> str:
    """So many; ``?`` for None."""
    return "?" if tokens is None else str(tokens)
