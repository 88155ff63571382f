#!/usr/bin/env python3
"""A second ZCRP, in Python, written from docs/protocol.md and docs/aal5.md alone. Its codec is tools/codec.py,
and tools/tls_psk.py is its TLS.

    tools/peer.py send HOST PORT FILE     sends a file to examples/receiver, or to `peer.py receive`
    tools/peer.py receive PORT FILE       receives a file from examples/sender, or from `peer.py send`

It shows that the standard is enough to write a peer, and how the protocol works. Comments name the section of
docs/protocol.md whose rule they follow. Reading order: Sender, Receiver, Link, the keys, AAL5.

It is a sender or a receiver over one UDP socket, and no library. Its window is fixed, without congestion control or
pacing, and its units have one size. A sender asks for no other receiver once it has found one. A receiver withdraws no
buffer. Nothing here reads ICMP, or ECN in IP. With keys it takes a pre-shared key, and no credit in the handshake.
"""
import argparse
import bisect
import collections
import hashlib
import random
import secrets
import select
import socket
import struct
import sys
import time
import zlib

from codec import (
    ACK, ANSWER, ANSWERS, CANCELLED, CLOSING, COOKIE, ECN, FRAGMENT, GRAIN, HANDSHAKE, HAS_NEXT, HELLO, IS_LAST,
    LAST_TEN, MASK, OF_RECEIVER, OF_SENDER, OFFER, PROBE, PROBE_ANSWER, REFUSES, REQUEST, RUN, SEAL, SECOND, TOO_LARGE,
    TRAILER, UNIT, VOID, WITHDRAWN, Datagram, Rejected, decode, encode, void_size)
from tls_psk import HandshakeFailed, Tls, expand

CONTROL = 1200            # most bytes of a control datagram that is sent
SILENCE, PROGRESS, CONNECT = 30.0, 30.0, 5.0  # limits, seconds
QUIET = 1.0               # seconds without a datagram, after which an end asks whether its peer is there
KNOWN = 4096              # announced messages that a sender looks at
CLOSES = 8                # times that an end says its close


class Failure(Exception):
    """Why a message failed, in the words of the standard: silent, cut off, keys, ..."""


# ---- numbers (Numbers)

def nearest(wire, reference):
    """The number nearest to the reference whose low 32 bits are the wire's; may be below 0."""
    step = (wire - reference) & MASK
    return reference + step - (step >> 31 << 32)


def drawn(bits):
    """A random number that nobody can compute; never 0."""
    return secrets.randbits(bits) or 1


def backed_off(wait, times, most):
    return max(wait, min(wait * 2**min(times, 30), most))


class Intervals:
    """Disjoint half-open intervals of numbers, in order. Beyond `most` of them it forgets the lowest."""

    def __init__(self, most):
        self.most, self.list, self.has_forgotten = most, [], False

    def add(self, number):
        at = bisect.bisect_right(self.list, [number, MASK << 32])
        if at and number < self.list[at - 1][1]:
            return
        self.list.insert(at, [number, number + 1])
        for right in (at + 1, at):  # it joins its neighbours
            if 0 < right < len(self.list) and self.list[right - 1][1] == self.list[right][0]:
                self.list[right - 1][1] = self.list.pop(right)[1]
        if len(self.list) > self.most:
            del self.list[0]
            self.has_forgotten = True


# ---- the sender

class Outgoing:
    """A message to be sent. `outcome` is None until it is over, then "ok" or why it failed."""

    def __init__(self, data, number):
        self.data, self.number, self.outcome = data, number, None
        self.cut = 0       # bytes that are in units
        self.is_cut = False
        self.open = 0      # units that are not acknowledged
        self.void = 0      # the reason why it will not come


class Unit:
    """A part of a message. It is to be repeated or in transit; each transmission has a number of its own."""

    def __init__(self, message, place, length, is_last, is_void=False):
        self.message, self.place, self.length, self.is_last, self.is_void = message, place, length, is_last, is_void
        self.was_sent = self.is_settled = False

    def is_stale(self):
        """Acknowledged meanwhile, or of a message that turned void."""
        return self.is_settled or self.is_void != bool(self.message.void)


class Sender:
    """Cuts messages into units, and repeats these until they are acknowledged."""

    def __init__(self, link, now, unit_bytes, window, asks):
        self.link, self.unit_bytes, self.window = link, unit_bytes, window
        self.state, self.why_over = "unpaired", ""  # then "paired", then "over"
        self.pairing = self.left = None  # the present one, and the one that it has left
        self.began = self.heard_at = self.said_at = self.sent_at = self.progress_at = now
        self.srtt, self.variation, self.has_rtt = 0.1, 0.05, False  # seconds
        self.messages = collections.deque()     # that are not over, in order
        self.waiting = collections.deque()      # of these, those that are not wholly cut
        self.next_number = 0
        self.buffers, self.requested = {}, 0    # announced: number: size; all numbers below `requested` are
        self.capacity = MASK
        self.next_seq, self.newest = 0, -1      # the next number; the newest that was acknowledged
        self.transit, self.transit_bytes = {}, 0  # number: (unit, when it was sent, bytes), in order
        self.given_up = collections.OrderedDict()  # number: unit, of transmissions taken for lost
        self.repeats, self.ahead = collections.deque(), None  # units to be repeated; a new one, cut in advance
        self.tolerance = 3                      # transmissions (Block acknowledgements)
        self.left_out, self.until_left_out = collections.deque(maxlen=512), 64  # numbers that are never sent
        self.unasked = 0                        # bytes since the last unit with ANSWER
        self.unanswered = 0                     # what it said since the peer's last datagram
        self.wants_offers, self.offer_due, self.offered = False, False, -1
        self.is_closing, self.closes, self.confirmations = False, 0, 0
        self.takes = {COOKIE: self.on_cookie, REQUEST: self.on_request, ACK: self.on_ack}
        self.saw_cookie = False
        self.question = Datagram(HELLO, tag=drawn(32), nonce=drawn(64), answered=0) if asks else None
        if asks:
            self.link.say(self.question)

    def submit(self, data):
        message = Outgoing(data, self.next_number)
        self.next_number += 1
        self.messages.append(message)
        self.waiting.append(message)
        return message

    def close(self, now):
        """Says so until the receiver confirms; once, and that messages will not come, if some are left."""
        self.is_closing, self.said_at = True, now - 1
        if self.state != "paired" or self.messages:
            if self.state == "paired":
                self.say_hello(now, CLOSING | VOID)
            self.leave("closed")

    def leave(self, why):
        for message in self.messages:
            message.outcome = why
        self.state, self.why_over, self.left, self.pairing = "over", why, self.pairing, None

    # -- pairing (Pairing): hello, cookie, hello with the cookie, request

    def ask(self, now):
        self.unanswered += 1
        self.said_at = now
        self.question.answered = 0
        self.link.say(self.question)

    def on_cookie(self, d, now):
        question, self.saw_cookie = self.question, True
        if self.state != "unpaired" or (d.nonce, d.tag) != (question.nonce, question.tag):
            return
        if self.unanswered == 0 and not self.has_rtt:  # nobody repeated the hello, so this is a round trip
            self.sample(now - self.began)
        question.cookie, question.session = d.cookie, d.session
        question.answered += 1
        if question.answered <= 4:
            self.link.say(question)

    def enter(self, pairing, now):
        self.state, self.pairing, self.said_at = "paired", pairing, now - 1
        self.hear(now)

    def hear(self, now):
        """A sign of life."""
        self.heard_at, self.unanswered = now, 0

    # -- what it hears

    def on_request(self, d, now):
        if self.state == "unpaired" and self.question and (d.nonce, d.tag) == (self.question.nonce, self.question.tag):
            self.enter(d.pairing, now)
        if d.pairing != self.pairing:
            return
        self.hear(now)
        self.capacity = d.capacity
        if d.flags & ANSWER:
            self.wants_offers = self.offer_due = True
        lowest = self.messages[0].number if self.messages else self.next_number
        left_to_look_at = KNOWN
        for first, count, size in d.runs:
            first = nearest(first, self.requested)
            numbers = range(max(first, lowest), min(first + count, lowest + KNOWN))[:left_to_look_at]
            left_to_look_at -= len(numbers)
            for number in numbers:
                self.buffers.setdefault(number, size)
                if size == WITHDRAWN:
                    self.withdraw(number)
        while self.requested in self.buffers:
            self.requested += 1
        if d.runs and self.peek() is None and now - self.said_at >= 0.001:  # it has no units to answer with
            self.say_hello(now)

    def withdraw(self, number):
        """The buffer is gone. A message that was not begun turns void in its turn (`cut`)."""
        self.buffers[number] = WITHDRAWN
        for message in self.messages:
            if message.number == number and message.cut and not message.void:
                self.repeats.append(self.turn_void(message, CANCELLED))

    def turn_void(self, message, reason):
        message.void, message.is_cut, message.open = reason, True, 1
        if self.waiting and self.waiting[0] is message:
            self.waiting.popleft()
        return Unit(message, 0, 0, True, is_void=True)

    def on_ack(self, d, now):
        if d.flags & CLOSING and self.left == d.pairing and self.confirmations < 8:
            self.confirmations += 1
            self.link.say(Datagram(HELLO, *self.left, CLOSING))  # it missed the confirmation
        if d.pairing != self.pairing:
            return
        end = nearest(d.newest, self.next_seq) + 1
        bounds = [end - ((end - bound) & MASK) for bound in d.bounds]
        if bounds and (bounds[0] < 0 or end > self.next_seq):
            return  # it names what was never sent
        self.hear(now)
        self.capacity = d.capacity
        if bounds:
            self.take_intervals(bounds, d.delay / 1e6, now)
        if d.flags & CLOSING and self.state == "paired":
            if not self.closes:  # its own close would be a confirmation, too (Closing)
                self.say_hello(now, CLOSING)
            self.leave("cut off" if self.messages else "peer closed")

    def take_intervals(self, bounds, delay, now):
        def is_positive(seq):  # the last interval is positive, and those before it in turn
            at = bisect.bisect_right(bounds, seq)
            return 0 < at < len(bounds) and (len(bounds) - at) % 2

        if any(is_positive(seq) for seq in self.left_out):
            self.leave("protocol")  # it acknowledges what it cannot have received
            return
        newest = bounds[-1] - 1
        if newest in self.transit:
            self.sample(max(now - self.transit[newest][1] - delay, 0))
        self.newest = max(self.newest, newest)
        for seq in [seq for seq in self.transit if is_positive(seq)]:
            self.settle(self.take_from_transit(seq))
            self.progress_at = now
        for seq in [seq for seq in self.given_up if is_positive(seq)]:  # it was late, and not lost
            self.tolerance = min(max(self.tolerance, self.newest - seq), 512)
            self.settle(self.given_up.pop(seq))
        self.find_losses(now)

    def settle(self, unit):
        """The receiver has the unit, whatever transmission brought it."""
        is_stale, message = unit.is_stale(), unit.message
        unit.is_settled = True
        message.open -= not is_stale
        if message.is_cut and message.open == 0 and message.outcome is None:
            message.outcome = {0: "ok", TOO_LARGE: "too large"}.get(message.void, "peer cancelled")
            self.messages.remove(message)
            self.buffers.pop(message.number, None)

    def take_from_transit(self, seq):
        unit, _, size = self.transit.pop(seq)
        self.transit_bytes -= size
        return unit

    def give_up(self, seq):
        unit = self.given_up[seq] = self.take_from_transit(seq)
        if len(self.given_up) > 256:
            self.given_up.popitem(last=False)
        return unit

    def lost_at(self, sent_at):
        return sent_at + max(9 / 8 * self.srtt, 0.001)

    def find_losses(self, now):
        """Lost is what enough later ones have overtaken, and what one has that was sent long after it."""
        for seq, (_, sent_at, _) in list(self.transit.items()):
            if seq < self.newest and (self.newest - seq >= self.tolerance or self.lost_at(sent_at) <= now):
                self.repeats.append(self.give_up(seq))

    def sample(self, rtt):
        """RFC 6298."""
        if self.has_rtt:
            self.variation += (abs(self.srtt - rtt) - self.variation) / 4
            self.srtt += (rtt - self.srtt) / 8
        else:
            self.srtt, self.variation, self.has_rtt = rtt, rtt / 2, True

    # -- what it sends (Messages on the sender)

    def peek(self):
        """The unit that would be sent next: repeats first, then new ones in order."""
        while self.repeats and self.repeats[0].is_stale():
            self.repeats.popleft()
        if self.repeats:
            return self.repeats[0]
        if self.ahead is None or self.ahead.is_stale():
            self.ahead = self.cut()
        return self.ahead

    def cut(self):
        """A new unit of the first message that is not wholly cut, if there is a buffer for it."""
        if not self.waiting or self.waiting[0].number not in self.buffers:
            return None
        message = self.waiting[0]
        size, buffer = len(message.data), self.buffers[message.number]
        if buffer == WITHDRAWN or size > buffer:
            return self.turn_void(message, CANCELLED if buffer == WITHDRAWN else TOO_LARGE)
        place, most = message.cut, (self.unit_bytes - TRAILER - self.link.seal_bytes) // GRAIN * GRAIN
        message.cut = min(place + most, size)
        message.open += 1
        message.is_cut = message.cut == size
        if message.is_cut:
            self.waiting.popleft()
        return Unit(message, place, message.cut - place, message.is_cut)

    def size_of(self, unit):
        return unit.length + TRAILER + self.link.seal_bytes

    def has_room(self, unit):
        return not self.transit or self.transit_bytes + self.size_of(unit) <= min(self.window, self.capacity)

    def flush(self, now):
        """A burst: an offer, and all units that the window takes."""
        if self.state != "paired":
            return
        self.say_offer()
        while (unit := self.peek()) and self.has_room(unit):
            if self.repeats:
                self.repeats.popleft()
            else:
                self.ahead = None
            self.transmit(unit, now)

    def transmit(self, unit, now):
        message, following = unit.message, self.peek()
        if self.until_left_out == 0:  # an acknowledgement that contains this number was invented (Numbers)
            self.left_out.append(self.next_seq)
            self.next_seq += 1
            self.until_left_out = random.randint(64, max(64, min(1024, self.window // self.unit_bytes)))
        seq, self.next_seq = self.next_seq, self.next_seq + 1
        self.until_left_out -= 1
        self.progress_at = self.progress_at if self.transit else now
        self.transit[seq] = unit, now, self.size_of(unit)
        self.transit_bytes += self.size_of(unit)
        self.unasked += self.size_of(unit)
        self.sent_at = now
        d = Datagram(UNIT, *self.pairing, IS_LAST if unit.is_last else 0, message=message.number & MASK,
                     unit=unit.place // GRAIN, seq=seq & MASK, body=message.data[unit.place:unit.place + unit.length])
        step = following.message.number - message.number if following and not following.is_void else 2**15
        if unit.is_void:
            d.flags, d.unit = IS_LAST | VOID, message.void
            if message.void == TOO_LARGE:
                d.next_length, d.next_unit = len(message.data) >> 32, len(message.data) & MASK
        elif -2**15 <= step < 2**15:  # the forecast
            d.flags |= HAS_NEXT
            d.next_unit, d.next_length, d.next_step = following.place // GRAIN, following.length, step
        if unit.was_sent or not following or not self.has_room(following) or self.unasked >= self.window // 4:
            d.flags |= ANSWER
            self.unasked = 0
        unit.was_sent = True
        self.link.say(d, seq)

    def say_offer(self):
        """The first message without a buffer: when it becomes that, and for each request with ANSWER (Offers)."""
        if not self.wants_offers:
            return
        message = next((m for m in self.waiting if m.number == self.requested), None)
        if message and (self.offer_due or self.offered != message.number):
            self.offered = message.number
            self.link.say(Datagram(OFFER, *self.pairing, size=len(message.data), message=message.number & MASK))
        self.offer_due = False

    def say_hello(self, now, flags=0):
        self.said_at = now
        self.link.say(Datagram(HELLO, *self.pairing, flags, requested=self.requested & MASK))

    # -- time (Time)

    def timers(self):
        """Pairs of a time and the method that is called then."""
        if self.state == "unpaired" and self.question:
            yield self.said_at + backed_off(0.02, self.unanswered, 0.25), self.ask
            yield self.began + CONNECT, lambda now: self.leave(self.link.why_unpaired())
        if self.state != "paired":
            return
        wait = self.srtt + max(4 * self.variation, 0.001) + 0.005
        if self.transit:
            seq = next(iter(self.transit))
            if seq < self.newest:
                yield self.lost_at(self.transit[seq][1]), self.find_losses
            yield self.sent_at + backed_off(wait, self.unanswered, QUIET), self.probe
            yield self.progress_at + PROGRESS, lambda now: self.leave("stalled")
        elif self.messages:
            pause = backed_off(max(wait, 0.02), self.unanswered - 1, QUIET) if self.unanswered else QUIET
            yield max(self.heard_at, self.said_at) + pause, self.greet
        elif self.is_closing:
            yield self.said_at + backed_off(0.02, self.closes - 1, 1), self.say_close
        if self.messages:
            yield self.heard_at + SILENCE, lambda now: self.leave("silent")

    def probe(self, now):
        """Nothing came for long: repeats the two oldest units, whatever the window."""
        self.unanswered += 1
        self.sent_at = now
        for unit in [self.give_up(seq) for seq in list(self.transit)[:2]]:
            if not unit.is_stale():
                self.transmit(unit, now)

    def greet(self, now):
        self.unanswered += 1
        self.say_hello(now)

    def say_close(self, now):
        if self.closes == CLOSES:
            self.leave("closed")
            return
        self.closes += 1
        self.say_hello(now, CLOSING)


# ---- the receiver

class Incoming:
    """A buffer that was posted, and what has arrived in it. `outcome` is None until it is over."""

    def __init__(self, size):
        self.buffer, self.outcome, self.length = bytearray(size), None, 0
        self.has = bytearray((size + GRAIN - 1) // GRAIN)  # 1 for each grain that is there
        self.has_begun = False
        self.end = None    # bytes of the message, once a last unit came

    def land(self, d):
        """Brings a unit to its place. Says whether it is "new", a "duplicate", or nothing that belongs here: "drop"."""
        place = d.unit * GRAIN
        end, behind = place + d.length, (place + d.length + GRAIN - 1) // GRAIN
        is_last = bool(d.flags & IS_LAST)
        if end > (len(self.buffer) if self.end is None else self.end) or is_last and self.end not in (None, end):
            return "drop"  # the first last unit has decided where the message ends
        is_new = self.has.count(1, d.unit, behind) < behind - d.unit or is_last and self.end is None
        if is_new:
            self.buffer[place:end] = d.body
            self.has[d.unit:behind] = b"\1" * (behind - d.unit)
            self.has_begun = True
        if is_last:
            self.end = end
        if self.end is not None and self.has.find(0, 0, (self.end + GRAIN - 1) // GRAIN) < 0:
            self.outcome, self.length = "ok", self.end
        return "new" if is_new else "duplicate"


class Receiver:
    """Announces buffers, lands units in them and acknowledges these."""

    def __init__(self, link, capacity):
        self.link, self.capacity = link, capacity
        self.state, self.why_over = "unbound", ""  # then "bound", "closing", "over"
        self.pairing = self.left = None
        self.posted = {}          # number: message, in order, of those that are not over
        self.expects = False
        self.takes = {UNIT: self.on_unit, HELLO: self.on_hello, PROBE: self.on_probe, OFFER: self.on_offer}
        self.start(0)

    def start(self, nonce):
        """What begins anew with a session. Messages that are posted have numbers from 0."""
        self.nonce = nonce        # of the question that the session answers; 0 once something else came
        self.posted = dict(enumerate(self.posted.values()))
        self.next_post = len(self.posted)
        self.requested = 0        # the sender knows of all messages below
        self.settled = Intervals(1024)
        self.newest, self.newest_at = 0, None
        self.has_units = False
        self.ack_due = None       # when
        self.request_due = True
        self.asked_at, self.requests = 0.0, 0  # requests since the peer's last datagram
        self.offered = None       # the size of the next message, which the peer has offered
        self.marks, self.closes = 0, 0

    def post(self, size):
        message = Incoming(size)
        if self.state in ("closing", "over"):
            message.outcome = self.why_over
        else:
            self.posted[self.next_post] = message
            self.next_post += 1
            self.offered, self.request_due = None, True
        return message

    def expect(self):
        """From now on the sender offers the first message without a buffer (Offers)."""
        self.expects = self.request_due = True

    def close(self, now):
        """Says so until the sender confirms."""
        self.end_messages("closed")
        self.state = "closing" if self.state == "bound" else "over"
        if self.state == "closing":
            self.say_close(now)

    def end_messages(self, why):
        for message in self.posted.values():
            message.outcome = why
        self.posted = {}

    def leave(self, why):
        self.end_messages(why)
        self.state, self.why_over, self.left, self.pairing = "over", why, self.pairing, None

    def enter(self, pairing, nonce, now):
        self.state, self.pairing, self.heard_at = "bound", pairing, now
        self.start(nonce)

    def hear(self, now):
        self.heard_at, self.requests, self.nonce = now, 0, 0

    # -- what it hears

    def on_asking_hello(self, d, now):
        """The table of Pairing: the first row that holds decides."""
        address = d.address
        session, tag = self.pairing or (0, 0)
        if not self.link.cookies.is_good(d, address):
            self.link.say_cookie(d, session, address)
        elif d.tag == tag:
            if self.state == "bound":
                self.nonce = d.nonce
                self.say_request(now)
        elif d.session != session:
            self.link.say_cookie(d, session, address)
        elif self.state == "closing":
            self.leave("closed")
        elif self.state != "over":
            if self.has_units:
                self.end_messages("restarted")
            self.link.connect(address)
            self.enter((drawn(32), d.tag), d.nonce, now)

    def on_hello(self, d, now):
        """One within a pairing (Hello and request, Closing)."""
        if d.nonce:
            self.on_asking_hello(d, now)
            return
        confirmation = Datagram(ACK, *d.pairing, CLOSING, capacity=self.capacity)
        if d.pairing == self.left and d.flags & CLOSING:
            self.link.say(confirmation)
        if d.pairing != self.pairing:
            return
        self.hear(now)
        if d.flags & CLOSING:
            if self.state == "bound":
                self.link.say(confirmation)
            is_cut_off = d.flags & VOID or any(message.has_begun for message in self.posted.values())
            self.leave("cut off" if is_cut_off else "peer closed")
        elif self.state == "bound":
            requested = nearest(d.requested, self.next_post)
            if requested <= self.requested:
                self.say_request(now, is_empty=True)
            else:
                self.requested, self.request_due = requested, requested < self.next_post

    def on_unit(self, d, now):
        if d.pairing != self.pairing:
            return
        self.hear(now)
        if self.state == "closing":
            self.say_close(now)  # and nothing new is acknowledged
            return
        self.has_units = True
        self.marks += d.is_marked
        verdict = self.land(nearest(d.message, self.next_post), d)
        seq = nearest(d.seq, self.newest)
        if verdict == "drop" or seq < 0:
            return
        # A single missing number is no disorder: the sender may have left it out.
        is_disorder = not self.newest <= seq <= self.newest + 2
        self.settled.add(seq)
        if self.newest_at is None or seq > self.newest:
            self.newest, self.newest_at = seq, now
        is_urgent = d.flags & ANSWER or verdict == "duplicate" or is_disorder
        self.ack_due = now if is_urgent else min(self.ack_due or now + 0.002, now + 0.002)

    def land(self, number, d):
        """The table of Messages on the receiver. What it calls "drop" is not acknowledged."""
        if not 0 <= number < self.next_post:
            return "drop"
        message = self.posted.get(number)
        if message is None:
            return "duplicate"  # of a message that is over
        if d.flags & VOID:
            message.length = void_size(d) if d.unit == TOO_LARGE else 0
            message.outcome, verdict = {TOO_LARGE: "too large", CANCELLED: "peer cancelled"}.get(d.unit, "fault"), "new"
        else:
            verdict = message.land(d)
        if message.outcome:
            del self.posted[number]
        return verdict

    def on_probe(self, d, now):
        if self.state == "bound" and d.pairing == self.pairing:
            self.hear(now)
            if self.ack_due is not None:
                self.say_ack(now)
            self.link.say(Datagram(PROBE_ANSWER, *self.pairing, number=d.number, size=d.bytes))

    def on_offer(self, d, now):
        if self.state == "bound" and d.pairing == self.pairing:
            self.hear(now)
            if nearest(d.message, self.next_post) == self.next_post and self.offered is None:
                self.offered = d.size

    # -- what it says

    def say_ack(self, now, flags=0):
        """The newest intervals that fit (Block acknowledgements)."""
        self.ack_due = None
        most = (CONTROL - TRAILER) // 8 - 1
        bounds = [bound for interval in self.settled.list[-most:] for bound in interval]
        if bounds and bounds[0] > 0 and not self.settled.has_forgotten and len(self.settled.list) <= most:
            bounds.insert(0, 0)  # the first number of the session has not arrived
        delay = int((now - self.newest_at) * 1e6) if bounds else 0
        flags |= ECN if self.marks else 0
        self.link.say(Datagram(ACK, *self.pairing, flags, bounds=bounds, newest=self.newest & MASK if bounds else 0,
                               delay=delay & MASK, capacity=self.capacity, marks=self.marks & 0xFFFF))

    def first_unknown(self):
        """The first message of which no unit came, and no hello said that the sender knows it."""
        return next((number for number, message in self.posted.items()
                     if number >= self.requested and not message.has_begun), None)

    def say_request(self, now, is_empty=False):
        """Runs of equal buffers: all that may not be known; when all are, what is posted (Hello and request)."""
        first, runs = self.first_unknown() or 0, []
        for number, message in self.posted.items():
            size = len(message.buffer)
            if runs and runs[-1][0] + runs[-1][1] == number and runs[-1][2] == size:
                runs[-1][1] += 1
            elif number >= first:
                runs.append([number, 1, size])
        runs = [] if is_empty else runs[:(CONTROL - TRAILER) // RUN.size]
        if not is_empty:
            self.request_due, self.asked_at, self.requests = False, now, self.requests + 1
        self.link.say(Datagram(REQUEST, *self.pairing, ANSWER if self.expects else 0, nonce=self.nonce,
                               capacity=self.capacity, runs=runs))

    def say_close(self, now):
        if self.closes == CLOSES:
            self.leave("closed")
            return
        self.closes += 1
        self.asked_at = now
        self.say_ack(now, CLOSING)

    def flush(self, now):
        """Behind a burst: what is due at once."""
        if self.state == "bound" and self.request_due:
            self.say_request(now)

    def timers(self):
        """Pairs of a time and the method that is called then. (Time)"""
        if self.state == "closing":
            yield self.asked_at + 0.02 * 2**(self.closes - 1), self.say_close
        if self.state != "bound":
            return
        if self.ack_due is not None:
            yield self.ack_due, self.say_ack
        awaits_offer = self.expects and self.offered is None
        if self.posted or awaits_offer:
            is_unsure = awaits_offer or self.first_unknown() is not None
            wait = backed_off(0.02, self.requests, 1.0) if is_unsure else QUIET
            yield max(self.asked_at, self.heard_at) + wait, self.say_request
            yield self.heard_at + SILENCE, lambda now: self.leave("silent")


# ---- AAL5 in UDP datagrams (docs/aal5.md)

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


# ---- the channel

class Channel:
    """A UDP socket, which loses and reorders what it sends, from a seed."""

    def __init__(self, sock, args):
        self.socket, self.loss, self.reorder, self.random = sock, args.loss, args.reorder, random.Random(args.seed)
        sock.setblocking(False)
        self.circuit = Circuit() if args.aal5 else None
        self.held = []            # (when it leaves, packet, address) of packets that others overtake
        self.peer, self.was_refused = None, False

    def connect(self, address):
        self.socket.connect(address)
        self.peer = address[:2]

    def send(self, data, address=None):
        for packet in self.circuit.packets(data) if self.circuit else [data]:
            if self.random.random() < self.loss:
                continue
            if self.random.random() < self.reorder:
                self.held.append((time.monotonic() + self.random.uniform(0.0, 0.002), packet, address))
            else:
                self.write(packet, address)

    def write(self, packet, address):
        try:
            self.socket.send(packet) if self.peer else self.socket.sendto(packet, address)
        except OSError as error:  # it is lost, and the protocol repeats it
            self.was_refused |= isinstance(error, ConnectionRefusedError)

    def release(self, now):
        due, self.held = [h for h in self.held if h[0] <= now], [h for h in self.held if h[0] > now]
        for _, packet, address in due:
            self.write(packet, address)

    def receive(self, now):
        """A burst of what is there: (datagram, address, whether the network marked it)."""
        for _ in range(64):
            try:
                packet, address = self.socket.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:
                self.was_refused = True
                continue
            packet, is_marked = self.circuit.payload(packet, now) if self.circuit else (packet, False)
            if packet and self.peer in (None, address[:2]):
                yield packet, address, is_marked


class Cookies:
    """A keyed hash of where a hello came from, its nonce and tag, a session and a time slot (Cookies)."""

    def __init__(self):
        self.key = secrets.token_bytes(16)

    def make(self, d, session, address, slots_ago=0):
        text = repr((address[:2], d.nonce, d.tag, session, int(time.monotonic() // 10) - slots_ago)).encode()
        return int.from_bytes(hashlib.blake2b(text, key=self.key, digest_size=8).digest(), "big") or 1

    def is_good(self, d, address):
        return d.cookie in (self.make(d, d.session, address), self.make(d, d.session, address, slots_ago=1))


# ---- keys (Keys): tools/tls_psk.py has TLS

class Stream:
    """Seals, or opens, the datagrams of one stream by their numbers (Which key is for what)."""

    def __init__(self, suite, secret):
        self.suite, self.epoch, self.number = suite, 0, 0  # the newest epoch; the next control datagram's number
        self.secrets = {0: secret}       # epoch: secret
        self.opened, self.newest = set(), -1

    def cipher(self, epoch, number):
        from cryptography.hazmat.primitives.ciphers import aead
        for known in range(max(self.secrets), epoch):
            self.secrets[known + 1] = expand(self.secrets[known], "zcrp ku")
        secret, is_aes = self.secrets[epoch], self.suite == "aes"
        key, iv = expand(secret, "zcrp key", length=16 if is_aes else 32), expand(secret, "zcrp iv", length=12)
        nonce = (int.from_bytes(iv, "big") ^ number).to_bytes(12, "big")
        return (aead.AESGCM if is_aes else aead.ChaCha20Poly1305)(key), nonce

    def seal(self, number, plain, behind):
        cipher, nonce = self.cipher(number >> 22, number)
        return cipher.encrypt(nonce, plain, behind)

    def open(self, number, sealed, behind):
        epoch = number >> 22
        if number < 0 or number in self.opened or number <= self.newest - 8192:
            raise Rejected("replayed")
        if not self.epoch - 1 <= epoch <= self.epoch + 1:
            raise Rejected("forged")
        cipher, nonce = self.cipher(epoch, number)
        try:
            plain = cipher.decrypt(nonce, sealed, behind)
        except Exception as error:
            raise Rejected("forged") from error
        self.epoch, self.newest = max(self.epoch, epoch), max(self.newest, number)
        self.opened.add(number)
        if len(self.opened) > 16384:
            self.opened = {opened for opened in self.opened if opened > self.newest - 8192}
        return plain


class Half:
    """What one side says under keys: its three streams, and the pairing of its units."""

    def __init__(self, suite, secret):
        self.streams = {name: Stream(suite, expand(secret, "zcrp " + name)) for name in ("unit", "sender", "receiver")}
        session, tag = struct.unpack(">II", expand(secret, "zcrp pairing", length=8))
        self.pairing = session or 1, tag or 1

    def stream(self, kind):
        return self.streams["unit" if kind == UNIT else "sender" if kind in OF_SENDER else "receiver"]

    def seal(self, data, number=None):
        """The datagram as it crosses. A unit's number is all 64 bits of its sequence number."""
        kind = data[-1] & 15
        stream, behind = self.stream(kind), TRAILER if kind == UNIT else LAST_TEN.size
        if number is None:
            number, stream.number = stream.number, stream.number + 1
        tail = bytearray(data[-behind:])
        tail[-2] |= (number >> 22 & 3) << 6
        tail = bytes(tail) if kind == UNIT else struct.pack(">Q", number) + tail
        return stream.seal(number, data[:-behind], tail) + tail

    def open(self, data):
        """The datagram as it was."""
        kind = data[-1] & 15
        behind = TRAILER if kind == UNIT else LAST_TEN.size + 8
        if len(data) < behind + SEAL:
            raise Rejected("short")
        tail = data[-behind:]
        number = int.from_bytes(tail[:8], "big")
        if kind == UNIT:
            number = nearest(int.from_bytes(tail[8:12], "big"), max(self.streams["unit"].newest, 0))
        if number >> 22 & 3 != tail[-2] >> 6:
            raise Rejected("forged")
        plain = self.stream(kind).open(number, data[:-behind], tail)
        tail = bytearray(tail if kind == UNIT else tail[8:])
        tail[-2] &= 63
        return plain + tail


class Handshake:
    """Carries the bytes of TLS in datagrams of type 9, and repeats those that the other side does not have."""

    def __init__(self, link, now, question=None, address=None):
        """A caller's, which asks for a cookie first; or a listener's, about a caller that has returned its own."""
        self.link, self.address, self.is_client = link, address, question is None
        self.question = question or Datagram(HELLO, tag=drawn(32), nonce=drawn(64))
        self.began = self.said_at = now
        self.repeats = 0
        self.state = "asking" if self.is_client else "talking"  # then "done", or "failed"
        self.refused_at = None
        self.tls = Tls(self.is_client, *link.psk)
        self.heard = [{}, {}]      # place: bytes, of each level
        self.taken = [0, 0]        # bytes that are there without a gap
        self.messages = [b"", b""]  # of these, those that are no whole message yet
        self.had = [0, 0]          # how much of this side's streams the other side has
        self.streams = {}          # of the second level: whether the client's
        self.wants_to_say = self.is_client

    def on_cookie(self, d):
        if self.state == "asking" and (d.nonce, d.tag) == (self.question.nonce, self.question.tag):
            self.question.cookie, self.state, self.repeats, self.wants_to_say = d.cookie, "talking", 0, True

    def stream(self, is_clients):
        """The second level's; its secret is the handshake traffic secret itself."""
        if is_clients not in self.streams:
            self.streams[is_clients] = Stream(self.tls.suite, self.tls.secrets[is_clients, 1])
        return self.streams[is_clients]

    def say_bytes(self, level, place, flags=0):
        flags |= (SECOND if level else 0) | (0 if self.is_client else ANSWERS)
        d = Datagram(HANDSHAKE, 0, self.question.tag, flags, nonce=self.question.nonce, place=place,
                     have_first=self.taken[0], have_second=self.taken[1])
        body = b"" if flags & REFUSES else self.tls.out[level][place:place + FRAGMENT]
        if level:
            stream = self.stream(self.is_client)
            d.cookie, stream.number = stream.number, stream.number + 1
            body = stream.seal(d.cookie, body, encode(d))
        elif self.is_client:
            d.cookie = self.question.cookie
        self.link.channel.send(body + encode(d), self.address)

    def flush(self, now):
        """All bytes that the other side has not said that it has."""
        if not self.wants_to_say:
            return
        self.wants_to_say, self.said_at = False, now
        if self.state == "asking":
            self.link.channel.send(encode(self.question))
            return
        missing = [(level, place) for level, out in enumerate(self.tls.out) if len(out) > self.had[level]
                   for place in range(self.had[level] // FRAGMENT * FRAGMENT, len(out), FRAGMENT)]
        for level, place in missing:
            self.say_bytes(level, place)

    def hear(self, d, data, now):
        level, question = 1 if d.flags & SECOND else 0, self.question
        if (d.nonce, d.tag, bool(d.flags & ANSWERS)) != (question.nonce, question.tag, self.is_client):
            return
        if self.state == "failed" or level and not self.tls.suite:
            return
        if level:
            d.body = self.stream(not self.is_client).open(d.cookie, data[:-TRAILER], data[-TRAILER:])
        if d.flags & REFUSES:
            self.refused_at = min(self.refused_at or now, now - level)  # of the first level: it may be a stranger's
            return
        for other, have in enumerate((d.have_first, d.have_second)):
            self.had[other] = max(self.had[other], min(have, len(self.tls.out[other])))
        heard = self.heard[level]
        if len(d.body) > len(heard.get(d.place, b"")):
            heard[d.place], self.refused_at, self.repeats = d.body, None, 0
        self.wants_to_say |= bool(d.body)
        while more := heard.get(self.taken[level] // FRAGMENT * FRAGMENT, b"")[self.taken[level] % FRAGMENT:]:
            self.messages[level] += more
            self.taken[level] += len(more)
        try:
            self.take_messages(level)
        except (HandshakeFailed, ValueError, struct.error):
            self.state, self.wants_to_say, self.refused_at = "failed", False, now - 1
            self.say_bytes(level if self.tls.suite else 0, 0, REFUSES)
        if self.state == "talking" and self.tls.is_done:
            self.state, self.wants_to_say = "done", self.is_client
            self.link.establish(self, now)

    def take_messages(self, level):
        rest = self.messages[level]
        while len(rest) >= 4 and len(rest) >= (end := 4 + int.from_bytes(rest[1:4], "big")):
            self.tls.on_message(level, rest[:end])
            rest = self.messages[level] = rest[end:]

    def timers(self):
        if self.state == "asking":
            yield self.said_at + backed_off(0.02, self.repeats, 0.25), self.repeat
        elif self.state == "talking" or self.state == "done" and self.is_client and not self.link.is_proven:
            yield self.said_at + backed_off(0.05, self.repeats, 0.5), self.repeat
        if self.state != "done":
            yield self.began + CONNECT, self.link.fail_handshake
            if self.refused_at is not None:
                yield self.refused_at + 0.5, self.link.fail_handshake

    def repeat(self, now):
        self.repeats += 1
        self.wants_to_say = True


# ---- the link

class Link:
    """A channel, and the sender or the receiver that talks over it, with keys or without."""

    def __init__(self, sock, address, args):
        """A sender to this address; or, without one, a receiver."""
        now = time.monotonic()
        self.channel, self.cookies = Channel(sock, args), Cookies()
        self.psk = read_key(args.keys) if args.keys else None
        self.seal_bytes = SEAL if self.psk else 0
        self.own = self.other = None      # with keys: the halves of the two sides
        self.is_proven = False            # something opened that was sealed for a pairing
        self.sender = self.receiver = self.handshake = None
        if address:
            self.connect(address)
            self.handshake = Handshake(self, now) if self.psk else None
            self.sender = Sender(self, now, args.unit or (9152 if args.aal5 else 1216), args.window, not self.psk)
        else:
            # Linux counts its own bookkeeping of each datagram, too: half of its number is for data.
            self.receiver = Receiver(self, sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2)
        self.end = self.sender or self.receiver

    def connect(self, address):
        if not self.channel.peer:
            self.channel.connect(address)

    def say(self, d, number=None):
        data = encode(d)
        self.channel.send(self.own.seal(data, number) if self.own else data)

    def say_cookie(self, d, session, address):
        cookie = Datagram(COOKIE, session, d.tag, nonce=d.nonce, cookie=self.cookies.make(d, session, address))
        self.channel.send(encode(cookie), address)

    def why_unpaired(self):
        return "not admitted" if self.sender.saw_cookie else "refused" if self.channel.was_refused else "unreachable"

    def hear(self, data, address, is_marked, now):
        try:
            if self.own and LAST_TEN.unpack(data[-10:])[:2] in (self.own.pairing, self.other.pairing):
                data = self.other.open(data)
                self.is_proven = True
            elif self.psk:
                self.hear_handshake(decode(data, {HELLO, COOKIE, HANDSHAKE}), data, address, now)
                return
            d = decode(data, OF_RECEIVER if self.sender else OF_SENDER)
        except (Rejected, struct.error):
            return  # it is dropped (Verdicts)
        d.address, d.is_marked, d.bytes = address, is_marked, len(data)
        if d.kind in self.end.takes:
            self.end.takes[d.kind](d, now)

    # -- keys

    def hear_handshake(self, d, data, address, now):
        """What is not sealed for a pairing. A receiver refuses a hello that wants to talk without keys."""
        is_good = self.receiver and d.kind != COOKIE and d.nonce and self.cookies.is_good(d, address)
        if self.sender and d.kind == COOKIE:
            self.sender.saw_cookie = True
            self.handshake.on_cookie(d)
        elif self.receiver and d.kind == HELLO and d.nonce and not self.own:
            if is_good:
                self.channel.send(encode(Datagram(HANDSHAKE, 0, d.tag, ANSWERS | REFUSES, nonce=d.nonce)), address)
            else:
                self.say_cookie(d, 0, address)
        elif d.kind == HANDSHAKE:
            old = self.handshake
            is_other = not old or (d.nonce, d.tag) != (old.question.nonce, old.question.tag) and now - old.began > 1
            if is_good and is_other and not self.own:
                self.handshake = Handshake(self, now, d, address)
            if self.handshake:
                self.handshake.hear(d, data, now)

    def establish(self, handshake, now):
        """The handshake is over, and the pairing follows from it (With keys, in a session)."""
        tls = handshake.tls
        self.own = Half(tls.suite, tls.secrets[handshake.is_client, 2])
        self.other = Half(tls.suite, tls.secrets[not handshake.is_client, 2])
        if self.sender:
            self.sender.enter(self.own.pairing, now)
        else:
            self.connect(handshake.address)
            self.receiver.enter(self.other.pairing, 0, now)

    def fail_handshake(self, now):
        if self.sender:
            self.sender.leave("keys" if self.handshake.refused_at is not None else self.why_unpaired())
        self.handshake = None  # a receiver waits for another caller

    # -- turns

    def turn(self, until):
        """Answers what came, does what is due, or sleeps; and receives a burst."""
        now = time.monotonic()
        self.channel.release(now)
        ends = [end for end in (self.handshake, self.end) if end]
        for end in ends:
            end.flush(now)
        due, act = min((timer for end in ends for timer in end.timers()), key=lambda timer: timer[0],
                       default=(until, None))
        if act and due <= now:
            act(now)
        else:
            wake = min([due, until, *(held[0] for held in self.channel.held)])
            select.select([self.channel.socket], [], [], max(wake - time.monotonic(), 0))
        now = time.monotonic()
        for data, address, is_marked in self.channel.receive(now):
            self.hear(data, address, is_marked, now)

    def run(self, is_over, limit=1e9):
        until = time.monotonic() + limit
        while not is_over() and time.monotonic() < until:
            self.turn(until)

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        """Closes, and stays for a while: the last confirmation may be lost. After a failure the peer may be gone."""
        if self.end.state != "over":
            self.end.close(time.monotonic())
            self.run(lambda: self.end.state == "over", 0.15 if failure else 1e9)
        self.run(lambda: False, 0.15)


# ---- the program

def read_key(path):
    """A file of zcrp-keys with a pre-shared key: identity, colon, hexadecimal digits."""
    with open(path, encoding="utf-8") as file:
        identity, _, digits = file.read().strip().rpartition(":")
    return identity.encode(), bytes.fromhex(digits)


def open_socket(host, port, **how):
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, **how)[0]
    return socket.socket(family, kind), address


def wait_for(link, message):
    link.run(lambda: message.outcome is not None)
    if message.outcome != "ok":
        raise Failure(message.outcome)


def send(args):
    """Sends a file in messages; one of 0 bytes ends it."""
    with open(args.file, "rb") as file:
        data = file.read()
    parts = [data[place:place + args.message] for place in range(0, len(data), args.message)]
    with Link(*open_socket(args.host, args.port), args) as link:
        for message in [link.sender.submit(part) for part in [*parts, b""]]:
            wait_for(link, message)


def receive(args):
    """Receives such a file from the first sender that comes."""
    sock, address = open_socket(args.host or None, args.port, flags=socket.AI_PASSIVE)
    sock.bind(address)
    print(f"peer: port {sock.getsockname()[1]}", file=sys.stderr, flush=True)
    posted, message = collections.deque(), None
    with open(args.file, "wb") as file, Link(sock, None, args) as link:
        while message is None or message.length:
            if args.expect:
                link.receiver.expect()
                link.run(lambda: link.receiver.offered is not None or link.receiver.state == "over")
                posted.append(link.receiver.post(link.receiver.offered or 0))
            while len(posted) < args.posted and not args.expect:
                posted.append(link.receiver.post(args.message))
            message = posted.popleft()
            wait_for(link, message)
            file.write(message.buffer[:message.length])


def main():
    common = argparse.ArgumentParser(add_help=False)
    for name, kind, default, text in [
            ("--loss", float, 0.0, "chance of each datagram that this end sends to be lost, 0 to 1"),
            ("--reorder", float, 0.0, "chance of each of them to be held for up to 2 ms"),
            ("--seed", int, None, "of these chances"),
            ("--keys", str, None, "file of zcrp-keys with a pre-shared key"),
            ("--unit", int, 0, "largest datagram, bytes (1216; over AAL5 9152)"),
            ("--window", int, 65536, "most bytes in transit"),
            ("--message", int, 1 << 20, "bytes of a message, or of a posted buffer"),
            ("--posted", int, 4, "buffers that are posted at once")]:
        common.add_argument(name, type=kind, default=default, help=text)
    common.add_argument("--aal5", action="store_true", help="PDUs of AAL5 in the UDP datagrams")
    common.add_argument("--expect", action="store_true", help="ask for each message's size before posting its buffer")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for program, names in [(send, ["host", "port", "file"]), (receive, ["port", "file"])]:
        command = commands.add_parser(program.__name__, parents=[common], help=program.__doc__)
        for name in names:
            command.add_argument(name)
        command.set_defaults(run=program)
    command.add_argument("--host", default="", help="address to listen at (any)")
    args = parser.parse_args()
    try:
        args.run(args)
    except (Failure, OSError, ValueError, ImportError) as why:
        sys.exit(f"peer: {why}")


if __name__ == "__main__":
    main()
