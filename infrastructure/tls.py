"""How the other side of a TLS connection is checked."""

import os
import ssl
from functools import cache

import certifi
from urllib3.util.ssl_ import create_urllib3_context

from turnkeeper.infrastructure.wire import WIRE


class WiredTlsSocket(ssl.SSLSocket):
    """A TLS socket whose handshake can be cut."""

    def do_handshake(self, block: bool = False) -> None:
        wire = WIRE.get(None)
        if wire is None:
            return super().do_handshake(block)
        wire.hold(self)
        try:
            super().do_handshake(block)
        except BaseException:
            wire.let_go()  # as it is closed next
            raise


@cache
def tls_context(verify: bool | str) -> ssl.SSLContext:
    """Return the one context of the process for this setting; it costs much to make.

    Args:
        verify: True for the certificates that come with this program, a path for a file or folder
            of others, False to check nothing.

    Raises:
        OSError: The path does not lead to readable certificates.
    """
    context = create_urllib3_context()
    context.sslsocket_class = WiredTlsSocket
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    path = certifi.where() if verify is True else verify
    if os.path.isdir(path):
        context.load_verify_locations(capath=path)
    else:
        context.load_verify_locations(cafile=path)
    return context
