from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.address import unfit_as

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "198.17.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
]

INSIDE = [
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("10.0.0.1", "private"),
    ("100.64.0.1", "carrier-internal"),
    ("100.100.100.200", "carrier-internal"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("168.63.129.16", "metadata"),
    ("169.254.169.254", "link-local"),
    ("169.254.170.2", "link-local"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.192", "reserved"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "reserved"),
    ("192.168.1.1", "private"),
    ("198.19.255.255", "benchmarking"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::7f00:1", "reserved"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:169.254.169.254", "link-local"),
    ("64:ff9b::a00:1", "private"),
    ("64:ff9b::a9fe:a9fe", "link-local"),
    ("64:ff9b:1::a00:1", "reserved"),
    ("100::1", "reserved"),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved"),
    ("2001:20::1", "reserved"),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::", "reserved"),
    ("2002:808:808::", "reserved"),
    ("2606:4700::5efe:a00:1", "reserved"),
    ("2606:4700::200:5efe:a00:1", "reserved"),
    ("3fff::1", "documentation"),
    ("4000::1", "reserved"),
    ("5f00::1", "reserved"),
    ("fc00::1", "private"),
    ("fd00:ec2::254", "private"),
    ("fd20:ce::254", "private"),
    ("fe80::a9fe:a9fe", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("fec0::1", "private"),
    ("ff02::1", "multicast"),
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_is_fit(text: str) -> None:
    assert unfit_as(ip_address(text)) is None


@pytest.mark.parametrize(("text", "kind"), INSIDE)
def test_an_address_inside_of_a_network_is_of_its_kind(text: str, kind: str) -> None:
    assert unfit_as(ip_address(text)) == kind


@given(st.integers(min_value=0, max_value=2**32 - 1).map(IPv4Address))
def test_a_fit_ipv4_address_is_one_that_the_standard_library_calls_global(
    address: IPv4Address,
) -> None:
    assert unfit_as(address) or (address.is_global and not address.is_multicast)


@given(st.integers(min_value=0, max_value=2**128 - 1).map(IPv6Address))
def test_a_fit_ipv6_address_is_one_that_the_standard_library_calls_global(
    address: IPv6Address,
) -> None:
    assert unfit_as(address) or (address.is_global and not address.is_multicast)


@given(st.integers(min_value=0, max_value=2**32 - 1))
@pytest.mark.parametrize("prefix", ["::ffff:0:0", "64:ff9b::"])
def test_what_stands_for_an_ipv4_address_is_judged_as_that(prefix: str, number: int) -> None:
    standing_in = IPv6Address(int(IPv6Address(prefix)) + number)

    assert unfit_as(standing_in) == unfit_as(IPv4Address(number))


@given(st.integers(min_value=0, max_value=2**32 - 1), st.integers(min_value=0, max_value=2**80 - 1))
def test_no_older_way_to_carry_ipv4_is_fit(number: int, rest: int) -> None:
    compatible = IPv6Address(number)
    six_to_four = IPv6Address((0x2002 << 112) + (number << 80) + rest)
    teredo = IPv6Address((0x20010000 << 96) + (number << 64) + (rest & 0xFFFF_FFFF_FFFF_FFFF))

    assert all(unfit_as(address) for address in (compatible, six_to_four, teredo))
