#!/usr/bin/env python3
"""A second ZCRP, in Python, written from docs/protocol.md and docs/aal5.md alone. Beside it are its codec (codec.py),
AAL5 (aal5.py), keys (keys.py) and TLS (tls_psk.py).

    tests/peer/peer.py send HOST PORT FILE     sends a file to examples/receiver, or to `peer.py receive`
    tests/peer/peer.py receive PORT FILE       receives a file from examples/sender, or from `peer.py send`
    tests/peer/peer.py ask HOST PORT FILE      has a file sent back, over a connection to `echo serve` or `peer.py serve`
    tests/peer/peer.py serve PORT              listens, and sends back what `echo ask` or `peer.py ask` sends

It shows that the standard is enough to write a peer, and how the protocol works. Comments name the section of
docs/protocol.md whose rule they follow. Reading order: Sender, Receiver, Link, Port, keys.py.

It is no library. Its window is fixed, without congestion control or pacing, and its units have one size. A sender asks
for no other receiver once it has found one. A receiver withdraws no buffer. Nothing here reads ICMP, or ECN in IP. With
keys it takes a pre-shared key. Connections are over UDP alone, and a caller does not ask its system for its address.
"""
import argparse
import bisect
import collections
import hashlib
import random
import secrets
import select
import socket
import sys
import time

from aal5 import Circuit
from codec import (
    ACK, ANSWER, ANSWERS, CANCELLED, CHALLENGE, CHALLENGE_ANSWER, CLOSING, COOKIE, ECN, GRAIN, HANDSHAKE, HAS_NEXT,
    HELLO, IS_LAST, LAST_TEN, MASK, NEGATIVE_ACK, OFFER, PROBE, PROBE_ANSWER, REFUSES, REQUEST, RUN, SEAL, TOO_LARGE,
    TRAILER, UNIT, VOID, WITHDRAWN, Datagram, Rejected, backed_off, decode, drawn, encode, nearest, void_size)
from keys import CONNECT, Half, Handshake

CONTROL = 1200            # most bytes of a control datagram that is sent
SILENCE = PROGRESS = 30.0  # limits, seconds
QUIET = 1.0               # seconds without a datagram, after which an end asks whether its peer is there
KNOWN = 4096              # announced messages that a sender looks at
CLOSES, CLOSES_KNOWN = 8, 4  # times that an end says its close; and says it if both ends know
CONFIRMS, CONFIRMS_CLOSED = 64, 8  # times that a sender confirms a close again; and does if it had closed, too
EARLY_BYTES, EARLY = 1024, 10  # of an early unit; of these in transit
STAY = 0.15               # seconds that a closed end stays, to confirm its peer's close again
CALLERS = 64              # connections of a listener


class Failure(Exception):
    """Why a message failed, in the words of the standard: silent, cut off, keys, ..."""


# ---- numbers (Numbers)

class Intervals:
    """Disjoint half-open intervals of numbers, in order. Beyond `most` of them it forgets the lowest."""

    def __init__(self, most):
        self.most, self.list, self.floor = most, [], 0  # from `floor` on nothing was forgotten

    def add(self, number):
        at = bisect.bisect_right(self.list, [number, MASK << 32])
        if at and number < self.list[at - 1][1]:
            return
        self.list.insert(at, [number, number + 1])
        for right in (at + 1, at):  # it joins its neighbours
            if 0 < right < len(self.list) and self.list[right - 1][1] == self.list[right][0]:
                self.list[right - 1][1] = self.list.pop(right)[1]
        if len(self.list) > self.most:
            self.floor = max(self.floor, self.list.pop(0)[1])


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
        self.is_confirmed = False               # the peer has confirmed its close
        self.moves, self.shown = 0, 0           # of this end, as the peer said; hellos that showed its present address
        self.takes = {COOKIE: self.on_cookie, REQUEST: self.on_request, ACK: self.on_ack, HANDSHAKE: self.on_refusal,
                      CHALLENGE: self.on_challenge}
        self.saw_cookie, self.refused_at = False, None
        self.question = Datagram(HELLO, tag=drawn(32), nonce=drawn(64), answered=0) if asks else None
        if asks:
            self.link.say(self.question)

    def submit(self, data):
        message = Outgoing(data, self.next_number)
        if self.state == "over":
            message.outcome = "peer closed" if self.why_over == "cut off" else self.why_over
            return message
        self.next_number += 1
        self.messages.append(message)
        self.waiting.append(message)
        return message

    def close(self, now):
        """Says so until the receiver confirms; once, and that messages will not come, if some are left."""
        self.is_closing, self.said_at = True, now - 1
        if self.state == "paired" and self.messages and self.link.is_proven:
            self.say_hello(now, CLOSING | VOID)
        may_be_bound = self.question and self.question.cookie  # by a request that is lost, or on its way
        if self.messages or self.state == "unpaired" and not may_be_bound:
            self.leave("closed")

    def leave(self, why):
        for message in self.messages:
            message.outcome = why
        self.state, self.why_over, self.left, self.pairing = "over", why, self.pairing, None
        self.link.on_end(self, why)

    # -- pairing (Pairing): hello, cookie, hello with the cookie, request

    def ask(self, now):
        if self.is_closing and self.closes == 3:
            self.leave("closed")
            return
        self.closes += self.is_closing
        self.unanswered += 1
        self.said_at = now
        self.question.answered = 0
        self.link.say(self.question)

    def on_cookie(self, d, now):
        question, self.saw_cookie = self.question, True
        if self.state != "unpaired" or self.is_told() or (d.nonce, d.tag) != (question.nonce, question.tag):
            return
        if self.unanswered == 0 and not self.has_rtt:  # nobody repeated the hello, so this is a round trip
            self.sample(now - self.began)
        question.cookie, question.session = d.cookie, d.session
        question.answered += 1
        if question.answered <= 4:
            self.link.say(question)

    def enter(self, pairing, now):
        self.state, self.pairing, self.said_at, self.closes = "paired", pairing, now - 1, 0
        self.hear(now)

    def on_refusal(self, d, now):
        """The receiver wants keys, or a stranger says so (Handshake bytes)."""
        question = self.question
        if question and d.flags == ANSWERS | REFUSES and (d.nonce, d.tag) == (question.nonce, question.tag):
            self.refused_at = self.refused_at or now

    def hear(self, now):
        """A sign of life."""
        self.heard_at, self.unanswered = now, 0
        self.shown = self.shown if self.waiting else 0

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

    def take_credit(self, count, size):
        """The handshake has announced the first buffers (Credit in the handshake)."""
        self.requested = min(count, KNOWN)
        self.buffers = dict.fromkeys(range(self.requested), size)

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
        most = CONFIRMS_CLOSED if self.closes else CONFIRMS
        if d.flags & CLOSING and self.left == d.pairing and self.confirmations < most:
            self.confirmations += 1
            self.link.say(Datagram(HELLO, *self.left, CLOSING))  # it missed the confirmation
        if d.flags & CLOSING and self.is_told() and self.question and d.tag == self.question.tag:
            self.pairing = d.pairing  # it has bound the question, and its request came too late (Closing)
            self.say_hello(now, CLOSING)
            self.leave("peer closed")
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
            self.is_confirmed = self.is_closing
            self.leave("closed" if self.is_closing else "cut off" if self.messages else "peer closed")

    def is_told(self):
        """Is it unpaired, and the peer closes?"""
        return self.state == "unpaired" and self.link.peer_closes()

    def on_challenge(self, d, now):
        """The receiver asks whether this end is at another address, or sends there now (Another address)."""
        if d.pairing != self.pairing:
            return
        self.hear(now)
        if d.challenge:
            self.link.say(Datagram(CHALLENGE_ANSWER, *self.pairing, challenge=d.challenge))
        if 0 < (d.moves - self.moves) & MASK < 2**31:
            self.moves = d.moves
            self.begin_anew()
            self.say_hello(now)

    def begin_anew(self):
        """Over another path nothing is known of the round trip, nor of what is in transit."""
        self.srtt, self.variation, self.has_rtt = 0.1, 0.05, False
        self.repeats.extend([self.give_up(seq) for seq in list(self.transit)])

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
        most = most if self.link.is_proven else min(most, EARLY_BYTES)
        message.cut = min(place + most, size)
        message.open += 1
        message.is_cut = message.cut == size
        if message.is_cut:
            self.waiting.popleft()
        return Unit(message, place, message.cut - place, message.is_cut)

    def size_of(self, unit):
        return unit.length + TRAILER + self.link.seal_bytes

    def has_room(self, unit):
        if not self.link.is_proven and len(self.transit) >= EARLY:
            return False
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
        if not self.transit:
            self.progress_at, self.shown = now, 0
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
        if self.is_told():
            yield self.link.receiver.told_at + STAY, lambda now: self.leave("peer closed")
        elif self.state == "unpaired" and self.question:
            yield self.said_at + backed_off(0.02, self.unanswered, 0.25), self.ask
            yield self.began + CONNECT, lambda now: self.leave(self.link.why_unpaired())
            if self.refused_at is not None:
                yield self.refused_at + 0.5, lambda now: self.leave("keys")
        if self.state != "paired":
            return
        wait = self.srtt + max(4 * self.variation, 0.001) + 0.005
        if self.transit:
            seq = next(iter(self.transit))
            if seq < self.newest:
                yield self.lost_at(self.transit[seq][1]), self.find_losses
            yield self.sent_at + backed_off(wait, self.unanswered, QUIET), self.probe
            yield self.progress_at + PROGRESS, lambda now: self.leave("stalled")
        elif not self.link.is_proven:
            return  # it says no hello yet
        elif self.is_closing and not self.messages:
            yield self.said_at + backed_off(0.02, self.closes - 1, 1), self.say_close
        elif self.messages or self.link.is_connection:
            quiet = self.link.quiet
            pause = backed_off(max(wait, 0.02), self.unanswered - 1, quiet) if self.unanswered else quiet
            yield min(max(self.heard_at, self.said_at) + pause, max(self.sent_at, self.said_at) + 2 * quiet), self.greet
        if self.messages or self.link.is_connection:
            yield self.heard_at + SILENCE, lambda now: self.leave("silent")
        if self.link.psk and self.link.role == "caller" and self.link.is_proven:
            pause = (0.2 + self.srtt) * 2**min(self.shown, 10)
            if self.transit or self.link.receiver.has_more:
                yield max(self.heard_at, self.link.receiver.heard_at, self.said_at) + min(pause, 1), self.show
            elif self.waiting:  # whether or not it is answered: the request may go to an address that is lost
                yield self.said_at + min(pause, self.link.quiet), self.show

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

    def show(self, now):
        """Its datagrams may come from another address meanwhile (Another address)."""
        self.shown += 1
        self.say_hello(now)

    def say_close(self, now):
        if self.closes == (CLOSES_KNOWN if self.link.peer_closes() else CLOSES):
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
        self.told_at = None       # when the peer said that it closes
        self.heard_at = 0.0
        self.posted = {}          # number: message, in order, of those that are not over
        self.expects = False
        self.takes = {UNIT: self.on_unit, HELLO: self.on_hello, PROBE: self.on_probe, OFFER: self.on_offer}
        self.start(0)

    def start(self, nonce):
        """What begins anew with a session. Messages that are posted have numbers from 0."""
        self.nonce = nonce        # of the question that the session answers; 0 once something else came
        self.posted = dict(enumerate(self.posted.values()))
        self.next_post = len(self.posted)
        self.requested = 0        # the sender knows of all messages below, as its hellos said
        self.reached = 0          # units have come of none of these, and above
        self.settled = Intervals(1024)
        self.newest, self.newest_at = 0, None
        self.has_units = self.has_more = self.was_heard = False  # has_more: the newest trailer foretells a unit
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
        self.over = min(self.posted, default=self.next_post)  # all messages below were over before
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
        self.link.on_end(self, why)

    def enter(self, pairing, nonce, now):
        self.state, self.pairing, self.heard_at = "bound", pairing, now
        self.start(nonce)

    def hear(self, now):
        self.heard_at, self.requests, self.nonce, self.was_heard = now, 0, 0, True

    # -- what it hears

    def on_asking_hello(self, d, now):
        """The table of Pairing: the first row that holds decides."""
        session, tag = self.pairing or (0, 0)
        if not self.link.port.cookies.is_good(d, d.address):
            self.link.port.say_cookie(d, session, d.address)
        elif d.tag == tag:
            if self.state == "bound":
                self.nonce = d.nonce
                self.say_request(now)
        elif d.session != session:
            self.link.port.say_cookie(d, session, d.address)
        elif self.state == "closing":
            self.leave("closed")
        elif session and self.link.is_connection:
            self.leave("restarted")  # another peer has the address, and goes on asking (Connections)
        elif self.state != "over":
            if self.has_units:
                self.end_messages("restarted")
            self.link.connect(d.address)
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
            self.told_at = now
            if self.state == "bound":
                self.link.say(confirmation)
            is_cut_off = d.flags & VOID or any(message.has_begun for message in self.posted.values())
            self.leave("cut off" if is_cut_off else "peer closed")
        elif self.state == "bound":
            requested = nearest(d.requested, self.next_post)
            known, is_news = max(self.requested, self.reached), requested > self.requested
            self.requested = max(self.requested, requested)
            if is_news and max(known, requested) < self.next_post:
                self.request_due = True
            elif requested <= known:  # else it answers a request
                self.say_request(now, is_empty=True)

    def on_unit(self, d, now):
        if d.pairing != self.pairing:
            return
        self.hear(now)
        if self.state == "closing":
            seq = nearest(d.seq, self.newest)
            if 0 <= nearest(d.message, self.next_post) < self.over and seq >= 0:
                self.settle(seq, d, now)  # and nothing new is acknowledged
            self.closes = 0
            self.say_close(now)
            return
        self.has_units = True
        self.marks += d.is_marked
        number = nearest(d.message, self.next_post)
        verdict = self.land(number, d)
        seq = nearest(d.seq, self.newest)
        if verdict == "drop" or seq < 0:
            return
        self.reached = max(self.reached, number + 1)
        # A single missing number is no disorder: the sender may have left it out.
        is_disorder = not self.newest <= seq <= self.newest + 2
        self.settle(seq, d, now)
        is_urgent = d.flags & ANSWER or verdict == "duplicate" or is_disorder
        self.ack_due = now if is_urgent else min(self.ack_due or now + 0.002, now + 0.002)

    def settle(self, seq, d, now):
        """The transmission is to be acknowledged."""
        self.settled.add(seq)
        if self.newest_at is None or seq > self.newest:
            self.newest, self.newest_at, self.has_more = seq, now, d.flags & HAS_NEXT

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
        known = [interval for interval in self.settled.list if not flags & CLOSING or interval[1] > self.settled.floor]
        bounds = [bound for interval in known[-most:] for bound in interval]
        if bounds and bounds[0] > 0 and not self.settled.floor and len(known) <= most:
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

    def begin_anew(self):
        """The peer has another address, and may have missed what was said to the old one."""
        self.request_due, self.ack_due = True, None if self.newest_at is None else 0.0

    def say_close(self, now):
        if self.closes == (CLOSES_KNOWN if self.link.sender and self.link.sender.is_confirmed else CLOSES):
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
        is_unsure = (self.first_unknown() is not None or self.expects and self.offered is None
                     or self.link.psk and not self.was_heard)  # (With keys, in a session)
        if self.posted or is_unsure:
            wait = backed_off(0.02, self.requests, 1.0) if is_unsure else self.link.quiet
            yield max(self.asked_at, self.heard_at) + wait, self.say_request
            yield self.heard_at + SILENCE, lambda now: self.leave("silent")


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


# ---- the link

class Check:
    """Whether the peer has come to another address: a challenge that nobody else can answer."""

    def __init__(self, address):
        self.address, self.challenge = address, drawn(64)
        self.came = self.went = 0  # bytes from there, and to there
        self.again_at = 0.0
        self.move_at = None        # it was answered


class Link:
    """One peer, and what talks to it with keys or without: a sender, a receiver, or both, which are a connection."""

    def __init__(self, port, now, role, address=None):
        self.port, self.role, self.address = port, role, address
        self.is_connection, self.is_caller = role in ("caller", "callee"), role in ("sender", "caller")
        self.quiet = port.args.keep_alive if self.is_connection else QUIET
        self.psk, self.seal_bytes = port.psk, SEAL if port.psk else 0
        self.own = self.other = None      # with keys: the halves of the two sides
        self.is_proven = not self.psk or not self.is_caller  # it knows that the handshake has ended for its peer, too
        self.early = []                   # sealed datagrams that overtook the handshake
        self.check, self.moves = None, 0  # of the peer's address
        self.receiver = Receiver(self, port.capacity) if role != "sender" else None
        # Buffers that each caller has from the beginning.
        self.first = collections.deque(self.receiver.post(port.args.message)
                                       for _ in range(port.args.first if role == "callee" else 0))
        self.handshake = Handshake(self, now) if self.psk and self.is_caller else None
        self.sender = Sender(self, now, port.unit_bytes, port.args.window, not self.psk) if role != "receiver" else None
        self.ends = [end for end in (self.sender, self.receiver) if end]
        self.expected = {NEGATIVE_ACK, CHALLENGE_ANSWER}.union(*(end.takes for end in self.ends))
        self.expected -= set() if self.psk else {CHALLENGE, CHALLENGE_ANSWER}

    def connect(self, address):
        """A receiver by itself has found its sender."""
        if not self.address:
            self.address = address
            self.port.channel.connect(address)

    def say(self, d, number=None, address=None):
        data = encode(d)
        self.port.channel.send(self.own.seal(data, number) if self.own else data, address or self.address)

    def why_unpaired(self):
        return ("not admitted" if self.sender.saw_cookie else "refused" if self.port.channel.was_refused
                else "unreachable")

    def peer_closes(self):
        return self.is_connection and self.receiver.told_at is not None

    def on_end(self, end, why):
        """A connection ends with the session of one half, unless that half was closed in order (Closing)."""
        if not self.is_connection or why == "closed" or end is self.receiver and self.peer_closes():
            return
        other = self.receiver if end is self.sender else self.sender
        if why in ("peer closed", "cut off"):  # the peer's receiver closes, and its sender has not
            why = "cut off" if other.has_units or other.offered is not None else "peer closed"
        if other.state != "over":
            other.leave(why)

    def is_of(self, data):
        return self.own and len(data) >= TRAILER and LAST_TEN.unpack(data[-LAST_TEN.size:])[:2] in (
            self.own.pairing, self.other.pairing)

    def hear(self, data, address, is_marked, now):
        try:
            if self.is_of(data):
                data = self.other.open(data)
                self.is_proven = True
                self.check = None if self.other.is_newest else self.check  # the peer has not moved
            elif self.psk:
                self.hear_handshake(data, address, now)
                return
            d = decode(data, self.expected)
        except Rejected:
            return  # it is dropped (Verdicts)
        d.address, d.is_marked, d.bytes = address, is_marked, len(data)
        for end in self.ends:
            if d.kind in end.takes:
                end.takes[d.kind](d, now)

    # -- keys

    def hear_handshake(self, data, address, now):
        """What is not sealed for a pairing that is there."""
        if data[-1] & 15 not in (HELLO, COOKIE, HANDSHAKE):
            if len(self.early) < 16 and len(data) <= EARLY_BYTES + TRAILER + SEAL and not self.own:
                self.early.append(data)
            return
        d, old = decode(data, {HELLO, COOKIE, HANDSHAKE}), self.handshake
        if self.is_caller and d.kind == COOKIE and old:
            old.on_cookie(d)
        elif not self.is_caller and not self.own and self.port.admits(d, address):
            if not old or (d.nonce, d.tag) != (old.question.nonce, old.question.tag) and now - old.began > 1:
                self.handshake = Handshake(self, now, d, address)
        if d.kind == HANDSHAKE and self.handshake:
            self.handshake.hear(d, data, now)

    def establish(self, handshake, now):
        """The handshake is over, and the pairings follow from it (With keys, in a session)."""
        tls = handshake.tls
        self.own = Half(tls.suite, tls.secrets[handshake.is_client, 2])
        self.other = Half(tls.suite, tls.secrets[not handshake.is_client, 2])
        if self.receiver:
            self.connect(handshake.address)
            self.receiver.enter(self.other.pairing, 0, now)
        if self.sender:
            self.sender.enter(self.own.pairing, now)
            self.sender.take_credit(*tls.credit)
        if self.role == "callee":
            self.port.callers.append(self)
        for data in self.early:
            self.hear(data, self.address, False, now)

    def fail_handshake(self, _):
        handshake, self.handshake = self.handshake, None  # a receiver waits for another caller
        if self.is_caller:
            reasons = {"asking": self.why_unpaired(), "done": "not admitted"}
            self.sender.leave("keys" if handshake.refused_at is not None else reasons.get(handshake.state, "keys"))
        elif self.role == "callee":
            self.port.links.remove(self)

    # -- another address

    def hear_elsewhere(self, data, address, now):
        """A datagram from another address, to which the peer may have moved. Nothing else in it is used."""
        try:
            d, check = decode(self.other.open(data, is_elsewhere=True), self.expected), self.check
        except Rejected:
            return
        if d.kind == CHALLENGE_ANSWER:
            if check and (check.address, check.challenge) == (address, d.challenge):
                check.move_at = check.move_at or now + min(max(self.sender.srtt, 0.1), 1)
            return
        if not self.other.is_newest:
            return
        if not check or check.address != address:
            check = self.check = Check(address)
        check.came += len(data)
        if now >= check.again_at and check.went + TRAILER + 8 + SEAL <= check.came:
            check.again_at, check.went = now + 0.1, check.went + TRAILER + 8 + SEAL
            self.say(Datagram(CHALLENGE, *self.other.pairing, challenge=check.challenge, moves=self.moves),
                     address=address)

    def timers(self):
        if self.check and self.check.move_at:
            yield self.check.move_at, self.move

    def move(self, _):
        self.address, self.check, self.moves = self.check.address, None, self.moves + 1
        self.say(Datagram(CHALLENGE, *self.other.pairing, moves=self.moves))  # of 0: it has moved
        self.sender.begin_anew()
        self.receiver.begin_anew()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        """Closes, the sender first, and stays for a while. After a failure the peer may be gone."""
        for end in self.ends:
            if end.state != "over":
                end.close(time.monotonic())
                self.port.run(lambda end=end: end.state == "over", STAY if failure else 1e9)
        self.port.run(lambda: False, STAY)
        self.port.links.remove(self)


class Port:
    """A socket, and the links over it: one, or a listener's to each of its callers. The role of the one: "sender" or
    "caller", to the address; "receiver", to the first sender that comes."""

    def __init__(self, role, args, sock, address=None):
        self.role, self.args = role, args
        self.channel, self.cookies = Channel(sock, args), Cookies()
        self.psk = read_key(args.keys) if args.keys else None
        self.unit_bytes = args.unit or (9152 if args.aal5 else 1216)
        # Linux counts its own bookkeeping of each datagram, too: half of its number is for data.
        self.capacity = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
        self.links, self.callers = [], collections.deque()  # callers: of these, those that nobody has accepted
        if args.aal5 and role in ("caller", "listener"):
            raise Failure("connections are over UDP alone")
        if address:
            self.channel.connect(address)
        if role != "listener":
            self.links.append(Link(self, time.monotonic(), role, address))

    def say_cookie(self, d, session, address):
        cookie = Datagram(COOKIE, session, d.tag, nonce=d.nonce, cookie=self.cookies.make(d, session, address))
        self.channel.send(encode(cookie), address)

    def admits(self, d, address):
        """Has a caller brought its cookie back, in a datagram of the right kind? Answers a hello that is not."""
        is_good = d.session == 0 and d.nonce and self.cookies.is_good(d, address)
        if d.kind == HELLO and d.nonce and not is_good:
            self.say_cookie(d, 0, address)
        elif d.kind == HELLO and is_good and self.psk:  # it wants to talk without keys
            self.channel.send(encode(Datagram(HANDSHAKE, 0, d.tag, ANSWERS | REFUSES, nonce=d.nonce)), address)
        return is_good and d.kind == (HANDSHAKE if self.psk else HELLO)

    def hear(self, data, address, is_marked, now):
        """Brings a datagram to its link. A listener makes one for a caller, of which it has kept nothing before."""
        for link in self.links:
            if self.role != "listener" or link.address == address:
                link.hear(data, address, is_marked, now)
                return
        for link in self.links:
            if link.is_of(data):
                link.hear_elsewhere(data, address, now)
                return
        try:
            if self.admits(decode(data, {HELLO, HANDSHAKE}), address) and len(self.links) < CALLERS:
                link = Link(self, now, "callee", address)
                self.links.append(link)
                link.hear(data, address, is_marked, now)
                if not self.psk:
                    self.callers.append(link)
        except Rejected:
            pass  # it is dropped (Verdicts)

    def turn(self, until):
        """Receives a burst, answers it, and does what is due; or sleeps. A limit waits for what is there already."""
        now = time.monotonic()
        burst = list(self.channel.receive(now))
        for data, address, is_marked in burst:
            self.hear(data, address, is_marked, now)
        self.channel.release(now)
        ends = [end for link in self.links for end in (link.handshake, *link.ends) if end]
        for end in ends:
            end.flush(now)
        due, act = min((timer for end in [*self.links, *ends] for timer in end.timers()), key=lambda timer: timer[0],
                       default=(until, None))
        if act and due <= now:
            act(now)
        elif not burst:
            wake = min([due, until, *(held[0] for held in self.channel.held)])
            select.select([self.channel.socket], [], [], max(wake - time.monotonic(), 0))

    def run(self, is_over, limit=1e9):
        until = time.monotonic() + limit
        while not is_over() and time.monotonic() < until:
            self.turn(until)


# ---- the program

def read_key(path):
    """A file of zcrp-keys with a pre-shared key: identity, colon, hexadecimal digits."""
    with open(path, encoding="utf-8") as file:
        identity, _, digits = file.read().strip().rpartition(":")
    return identity.encode(), bytes.fromhex(digits)


def open_socket(host, port, **how):
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, **how)[0]
    return socket.socket(family, kind), address


def listen(role, args):
    sock, address = open_socket(args.host or None, args.port, flags=socket.AI_PASSIVE)
    sock.bind(address)
    print(f"peer: port {sock.getsockname()[1]}", file=sys.stderr, flush=True)
    return Port(role, args, sock)


def parts_of(args):
    with open(args.file, "rb") as file:
        data = file.read()
    return [data[place:place + args.message] for place in range(0, len(data), args.message)]


def wait_for(link, message):
    link.port.run(lambda: message.outcome is not None)
    if message.outcome != "ok":
        raise Failure(message.outcome)
    return message


def send(args):
    """Sends a file in messages; one of 0 bytes ends it."""
    parts = parts_of(args)
    with Port("sender", args, *open_socket(args.host, args.port)).links[0] as link:
        for message in [link.sender.submit(part) for part in [*parts, b""]]:
            wait_for(link, message)


def receive(args):
    """Receives such a file from the first sender that comes."""
    posted, message = collections.deque(), None
    with open(args.file, "wb") as file, listen("receiver", args).links[0] as link:
        while message is None or message.length:
            if args.expect:
                link.receiver.expect()
                link.port.run(lambda: link.receiver.offered is not None or link.receiver.state == "over")
                posted.append(link.receiver.post(link.receiver.offered or 0))
            while len(posted) < args.posted and not args.expect:
                posted.append(link.receiver.post(args.message))
            message = wait_for(link, posted.popleft())
            file.write(message.buffer[:message.length])


def ask(args):
    """Connects, sends a file in messages, has each sent back, and compares."""
    parts = parts_of(args)
    with Port("caller", args, *open_socket(args.host, args.port)).links[0] as link:
        answers = [link.receiver.post(len(part)) for part in parts]
        for message in [link.sender.submit(part) for part in parts] + answers:
            wait_for(link, message)
        if [answer.buffer[:answer.length] for answer in answers] != parts:
            raise Failure("other bytes came back")
        link.port.run(lambda: link.sender.state == "over", args.idle)
    if not link.sender.is_confirmed:
        raise Failure("the close was not confirmed")


def serve(args):
    """Listens, and sends back what comes from one caller after the other."""
    port = listen("listener", args)
    for _ in range(args.callers):
        port.run(lambda: port.callers)
        try:
            with port.callers.popleft() as link:
                serve_one(link, args)
        except Failure as why:
            print(f"peer: {why}", file=sys.stderr)


def serve_one(link, args):
    posted = link.first
    while True:
        while len(posted) < args.posted:
            posted.append(link.receiver.post(args.message))
        message = posted.popleft()
        link.port.run(lambda message=message: message.outcome is not None)
        if message.outcome == "peer closed":
            return
        wait_for(link, message)
        wait_for(link, link.sender.submit(bytes(message.buffer[:message.length])))


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
            ("--posted", int, 4, "buffers that are posted at once"),
            ("--first", int, 0, "serve: buffers that each caller has from the beginning"),
            ("--callers", int, 1 << 30, "serve: ends after so many"),
            ("--keep-alive", float, 5.0, "ask, serve: longest time without a hello, seconds"),
            ("--idle", float, 0.0, "ask: how long it stays before it closes, seconds")]:
        common.add_argument(name, type=kind, default=default, help=text)
    common.add_argument("--aal5", action="store_true", help="send, receive: PDUs of AAL5 in the UDP datagrams")
    common.add_argument("--expect", action="store_true", help="receive: ask for each message's size before posting")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for program, names in [(send, ["host", "port", "file"]), (receive, ["port", "file"]),
                           (ask, ["host", "port", "file"]), (serve, ["port"])]:
        command = commands.add_parser(program.__name__, parents=[common], help=program.__doc__)
        for name in names:
            command.add_argument(name)
        if "host" not in names:
            command.add_argument("--host", default="", help="address to listen at (any)")
        command.set_defaults(run=program)
    args = parser.parse_args()
    try:
        args.run(args)
    except (Failure, OSError, ValueError, ImportError) as why:
        sys.exit(f"peer: {why}")


if __name__ == "__main__":
    main()
