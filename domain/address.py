"""Which IP addresses anybody on the internet may reach, and which belong to somebody's inside.

Source: IANA's registries of special-purpose addresses for IPv4 and IPv6; RFC 4291, 6052, 5214.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Our own tables, as the standard library's differ from one of its releases to the next.
_IPV4 = tuple(
    (IPv4Network(block), word)
    for block, word in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-internal"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "metadata"),  # a cloud's own host behind a public number
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_IPV6 = tuple(
    (IPv6Network(block), word)
    for block, word in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
        ("2001::/23", "reserved"),  # Teredo among them
        ("2002::/16", "reserved"),  # 6to4
    )
)
_ALLOCATED = IPv6Network("2000::/3")  # all that was ever given out to the public
_NAT64 = IPv6Network("64:ff9b::/96")
_TUNNEL_MARKS = frozenset({0x00005EFE, 0x02005EFE})  # ISATAP's, before an IPv4 address


def unfit_as(address: Address) -> str | None:
    """What kind of inside the address is of, in one word; None for a public one.

    One that stands for an IPv4 address is of that one's kind.
    """
    if isinstance(address, IPv4Address):
        return _kind(address, _IPV4)
    carried = _carried_ipv4(address)
    if carried is not None:
        return unfit_as(carried)
    is_public = address in _ALLOCATED and not _is_tunnelled(address)
    return _kind(address, _IPV6) or (None if is_public else "reserved")


def _kind(address: Address, blocks: Iterable[tuple[Network, str]]) -> str | None:
    return next((word for block, word in blocks if address in block), None)


def _carried_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that is reached in its place, where there is one."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped


def _is_tunnelled(address: IPv6Address) -> bool:
    return int(address) >> 32 & 0xFFFF_FFFF in _TUNNEL_MARKS
