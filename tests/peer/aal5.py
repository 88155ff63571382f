"""AAL5 in UDP datagrams, for tests/peer/peer.py, written from docs/aal5.md alone."""
import struct
import zlib

REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
CELL = 48
PIECE = 30 * CELL         # most bytes of a PDU in one packet
CELLS = 1366              # most cells of a PDU


def crc32_of_aal5(data):
    """CRC-32 with the most significant bit first: zlib's is its mirror image."""
    return int(f"{zlib.crc32(data.translate(REVERSED)):032b}"[::-1], 2)


class Circuit:
    """PDUs of one direction, cut into numbered packets, and of the other one, put together."""

    def __init__(self, vci=32, vpi=0):
        self.label = 16 + vpi * 4096 + vci - 32
        self.sent = 0          # the number of the piece sent last
        self.wanted = None     # the number of the piece that comes next
        self.pieces, self.is_marked, self.heard_at = [], False, 0.0

    def packets(self, payload):
        pdu = payload + bytes(-(len(payload) + 8) % CELL) + struct.pack(">HH", 0, len(payload))
        pdu += struct.pack(">I", crc32_of_aal5(pdu))
        for place in range(0, len(pdu), PIECE):
            self.sent = self.sent % 65535 + 1
            flags = 0x84 if place + PIECE >= len(pdu) else 0x80  # frames; the PDU's last cell is here
            yield struct.pack(">IBHB", self.label << 12 | 0x140, 0, self.sent, flags) + pdu[place:place + PIECE]

    def payload(self, packet, now):
        """The datagram that the packet completes, or None; and whether the network marked it."""
        head, zero, number, flags = struct.unpack(">IBHB", packet[:8].ljust(8, b"\0"))
        if head >> 12 != self.label or zero or not flags & 0x80 or len(packet) % CELL != 8:
            self.pieces = []
            return None, False
        if number and number != self.wanted or now - self.heard_at > 1:
            self.pieces = []   # one is missing between them, or nothing has come for a second
        self.wanted = number % 65535 + 1 if number else self.wanted
        self.is_marked = bool(flags & 2) or bool(self.pieces) and self.is_marked
        self.heard_at = now
        self.pieces.append(packet[8:])
        if not flags & 4:
            return None, False
        pdu, self.pieces = b"".join(self.pieces), []
        length, crc = struct.unpack(">HI", pdu[-6:])
        is_whole = (length and crc == crc32_of_aal5(pdu[:-4]) and len(pdu) <= CELLS * CELL
                    and len(pdu) == length + 8 + -(length + 8) % CELL)
        return (pdu[:length], self.is_marked) if is_whole else (None, False)
