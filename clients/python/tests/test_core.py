"""The core: state machines without I/O, by a clock that stands still until it is told."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tenure import errors
from tenure._core.address import Address, parse_address, parse_duration
from tenure._core.backoff import Backoff
from tenure._core.clock import AdvancingClock, system_clock
from tenure._core.hold import HoldState
from tenure._core.lease import Lease, SessionMachine, margin
from tenure._core.members import MemberList
from tenure._core.namespace import Namespace
from tenure._core.requests import RequestWindow
from tenure._core.retry import decide
from tenure.types import CloseCause, Credentials, EndCause, Sequencer, State


class FakeClock:
    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time


# Leases.


@pytest.mark.parametrize(("ttl", "want"), [(2.0, 0.05), (2.5, 0.05), (15.0, 0.3), (86400.0, 1728.0)])
def test_margin_is_two_percent_but_at_least_fifty_milliseconds(ttl: float, want: float) -> None:
    assert margin(ttl) == pytest.approx(want)


def test_a_lease_counts_from_when_the_acknowledged_renewal_was_sent() -> None:
    clock = FakeClock()
    lease = Lease(clock, 10.0, clock.now())
    assert lease.safe_until == pytest.approx(100 + 10 - 0.2)
    clock.time = 103.0
    number = lease.renewal()
    clock.time = 108.0
    assert lease.acknowledged(number, 10.0)
    assert lease.safe_until == pytest.approx(103 + 10 - 0.2)


def test_only_the_outstanding_renewal_is_acknowledged_and_only_once() -> None:
    clock = FakeClock()
    lease = Lease(clock, 10.0, clock.now())
    first = lease.renewal()
    clock.time += 5
    lease.forget_sent()  # The stream broke.
    second = lease.renewal()
    assert not lease.acknowledged(first, 10.0)
    assert lease.acknowledged(second, 10.0)
    assert not lease.acknowledged(second, 10.0)
    assert lease.safe_until == pytest.approx(105 + 9.8)


def test_a_lease_takes_the_ttl_that_the_answer_grants() -> None:
    clock = FakeClock()
    lease = Lease(clock, 10.0, clock.now())
    lease.acknowledged(lease.renewal(), 30.0)
    assert lease.ttl == 30.0
    assert lease.safe_until == pytest.approx(100 + 30 - 0.6)


def test_a_lease_that_ran_out_and_is_renewed_counts_as_lapsed() -> None:
    clock = FakeClock()
    lease = Lease(clock, 2.0, clock.now())
    number = lease.renewal()
    clock.time += 1.96
    assert not lease.valid
    lease.acknowledged(number, 2.0)
    assert lease.lapses == 1
    assert not lease.valid  # The answer came too late to help.


def test_a_lease_without_ttl_never_ends() -> None:
    clock = FakeClock()
    lease = Lease(clock, 0.0, clock.now())
    clock.time += 1e9
    assert lease.valid
    assert lease.beat == 10.0


@pytest.mark.parametrize(
    ("ttl", "beat", "silence"), [(2.0, 2 / 3, 2 / 3), (0.6, 0.2, 0.25), (15.0, 5.0, 5.0), (60.0, 10.0, 5.0)]
)
def test_beats_and_how_long_silence_is_borne(ttl: float, beat: float, silence: float) -> None:
    clock = FakeClock()
    lease = Lease(clock, ttl, clock.now())
    assert lease.beat == pytest.approx(beat)
    assert lease.silence == pytest.approx(silence)
    assert lease.suspect_at == float("inf")
    number = lease.renewal()
    clock.time += 0.1
    lease.put_off(number)  # A refusal that will pass is no answer.
    lease.renewal()
    assert lease.suspect_at == pytest.approx(100 + silence)


# States.


def machine(clock: FakeClock, ttl: float = 10.0) -> SessionMachine:
    return SessionMachine(Lease(clock, ttl, clock.now()))


def told(m: SessionMachine) -> list[str]:
    return [str(c.new) for c in m.take_changes()]


def test_a_session_that_loses_its_link_and_finds_it_in_time_is_only_suspended() -> None:
    clock = FakeClock()
    m = machine(clock)
    assert m.state is State.CONNECTING
    m.link_up()
    m.link_down()
    clock.time += 5
    m.tick()
    number = m.lease.renewal()
    m.acknowledged(number, 10.0)
    assert told(m) == ["CONNECTED", "SUSPENDED", "CONNECTED"]


def test_a_session_is_in_jeopardy_at_the_moment_its_lease_ends() -> None:
    clock = FakeClock()
    m = machine(clock)
    m.link_up()
    clock.time = 100 + 9.8 - 0.001
    m.tick()
    assert str(m.state) == "CONNECTED"
    clock.time = 100 + 9.8
    m.tick()
    assert str(m.state) == "JEOPARDY"
    clock.time += 1
    m.acknowledged(m.lease.renewal(), 10.0)
    assert told(m) == ["CONNECTED", "JEOPARDY", "CONNECTED"]


def test_jeopardy_is_told_even_if_nobody_looked_before_the_renewal() -> None:
    clock = FakeClock()
    m = machine(clock)
    m.link_up()
    clock.time += 8
    number = m.lease.renewal()
    clock.time += 3
    m.acknowledged(number, 10.0)
    assert told(m) == ["CONNECTED", "JEOPARDY", "CONNECTED"]


def test_a_state_that_nobody_looked_at_goes_by_the_clock() -> None:
    clock = FakeClock()
    m = machine(clock)
    m.link_up()
    assert str(m.state_now) == "CONNECTED"
    clock.time += 9.8
    assert str(m.state_now) == "JEOPARDY"
    m.link_down()
    assert str(m.state_now) == "JEOPARDY"
    m.close(CloseCause.EXPIRED)
    assert str(m.state_now) == "CLOSED"
    assert told(m) == ["CONNECTED", "SUSPENDED", "CLOSED"]


def test_the_first_cause_of_the_end_counts() -> None:
    m = machine(FakeClock())
    m.link_up()
    m.close(CloseCause.SUPERSEDED)
    m.close(CloseCause.CLOSED)
    m.link_down()
    m.tick()
    changes = m.take_changes()
    assert [str(c.new) for c in changes] == ["CONNECTED", "CLOSED"]
    assert changes[-1].cause is CloseCause.SUPERSEDED
    assert not m.acknowledged(1, 10.0)


def test_a_session_that_was_never_reached_is_connecting_not_in_jeopardy() -> None:
    clock = FakeClock()
    m = SessionMachine(Lease(clock, 10.0, None))
    m.tick()
    assert m.state is State.CONNECTING
    m.acknowledged(m.lease.renewal(), 10.0)
    assert told(m) == ["CONNECTED"]


# Holds.


def test_a_hold_is_safe_until_the_lease_ends_and_never_again() -> None:
    clock = FakeClock()
    lease = Lease(clock, 10.0, clock.now())
    hold = HoldState(clock, lease)
    assert hold.safe
    assert hold.safe_for == pytest.approx(9.8)
    clock.time += 9.8
    assert not hold.safe
    assert hold.ended is EndCause.LEASE_RAN_OUT  # Though nobody has told it.
    lease.acknowledged(lease.renewal(), 10.0)
    assert lease.valid
    assert not hold.safe
    assert HoldState(clock, lease).safe


def test_an_inherited_hold_is_not_safe_before_the_old_user_cannot_believe_in_it() -> None:
    clock = FakeClock()
    lease = Lease(clock, 10.0, clock.now())
    hold = HoldState(clock, lease, safe_from=105.0)
    assert not hold.safe
    clock.time = 105.0
    assert hold.safe


def test_a_hold_ends_once() -> None:
    clock = FakeClock()
    hold = HoldState(clock, Lease(clock, 10.0, clock.now()))
    assert hold.end(EndCause.TAKEN_AWAY)
    assert not hold.end(EndCause.RELEASED)
    assert hold.cause is EndCause.TAKEN_AWAY
    assert not hold.safe
    assert hold.safe_until == float("-inf")


# Request ids.


def test_requests_are_numbered_from_one_and_done_below_the_oldest_open_one() -> None:
    window = RequestWindow()
    assert window.done_below == 1
    assert [window.begin() for _ in range(3)] == [1, 2, 3]
    window.finish(2)
    assert window.done_below == 1
    window.finish(1)
    assert window.done_below == 3
    window.finish(3)
    window.finish(3)
    assert window.done_below == 4


def test_the_window_is_full_by_distance_not_by_count() -> None:
    window = RequestWindow(size=4)
    assert window.begin() == 1
    for _ in range(3):
        sequence = window.begin()
        assert sequence is not None
        window.finish(sequence)
    assert window.begin() is None  # 1 is still open: the cluster must remember 1 to 4.
    window.finish(1)
    assert window.begin() == 5


# Pauses, retries.


def test_backoff_has_full_jitter_and_a_bound() -> None:
    rng = random.Random(1)
    longest = [0.0] * 12
    for _ in range(2000):
        backoff = Backoff(rng)
        for i in range(12):
            longest[i] = max(longest[i], backoff.next())
    for i, seconds in enumerate(longest):
        bound = min(2.0, 0.02 * 2**i)
        assert 0.9 * bound < seconds <= bound


def test_backoff_is_no_shorter_than_the_server_asks() -> None:
    assert Backoff(random.Random(1)).next(3.0) >= 3.0


@pytest.mark.parametrize(
    ("error", "retry", "move"),
    [
        (errors.LinkLost(applied=None), True, True),
        (errors.NoLeader(applied=False), True, False),
        (errors.NotLeader(applied=False), True, True),
        (errors.Stopping(applied=False), True, True),
        (errors.OutcomeUnknown(applied=None), True, False),
        (errors.TooManyRequests(applied=False), True, False),
        (errors.CompareFailed(applied=False), False, False),
        (errors.SessionExpired(applied=False), False, False),
        (errors.QuotaExceeded(applied=False), False, False),
    ],
)
def test_what_is_tried_again(error: errors.TenureError, retry: bool, move: bool) -> None:
    decision = decide(error, failures=1)
    assert (decision.retry, decision.move) == (retry, move)


def test_every_reason_of_the_api_has_its_own_error() -> None:
    from tenure.v1 import types_pb2

    for name, number in types_pb2.ErrorReason.items():
        if number:
            reason = name.removeprefix("ERROR_REASON_")
            assert errors.for_reason(reason).reason == reason


# Members.


def test_the_first_member_is_random_and_then_it_goes_round() -> None:
    firsts = Counter(MemberList(["a", "b", "c"], random.Random(i)).next() for i in range(3000))
    assert all(900 < firsts[m] < 1100 for m in "abc")
    members = MemberList(["a", "b", "c"], random.Random(7))
    turns = [members.next() for _ in range(6)]
    assert sorted(turns[:3]) == ["a", "b", "c"]
    assert turns[:3] == turns[3:]


class Crowd:
    """Many clients of one cluster, each with its own list and its own dice."""

    def __init__(self, count: int, addresses: list[str]) -> None:
        self.lists = [MemberList(addresses, random.Random(i)) for i in range(count)]
        self.at = [m.next() for m in self.lists]

    def update(self, addresses: list[str]) -> int:
        """Changes the member list for all and returns how many moved."""
        moved = 0
        for i, members in enumerate(self.lists):
            if members.update(addresses, self.at[i]):
                moved += 1
                self.at[i] = members.next()
                members.connected(self.at[i])
        return moved

    def even(self, addresses: list[str], tolerance: float = 0.1) -> bool:
        counts = Counter(self.at)
        share = len(self.at) / len(addresses)
        return set(counts) == set(addresses) and all(abs(c - share) <= tolerance * share for c in counts.values())


def test_from_three_members_to_five_four_of_ten_clients_move_to_new_ones_only() -> None:
    crowd = Crowd(10_000, ["a", "b", "c"])
    before = list(crowd.at)
    moved = crowd.update(["a", "b", "c", "d", "e"])
    assert 3800 < moved < 4200
    assert all(now == was or now in "de" for was, now in zip(before, crowd.at, strict=True))
    assert crowd.even(["a", "b", "c", "d", "e"])


def test_from_five_members_to_three_only_those_move_whose_member_is_gone() -> None:
    crowd = Crowd(10_000, list("abcde"))
    before = list(crowd.at)
    moved = crowd.update(list("abc"))
    assert moved == sum(was in "de" for was in before)
    assert all(now == was for was, now in zip(before, crowd.at, strict=True) if was in "abc")
    assert crowd.even(list("abc"))


def test_clients_stay_even_through_many_changes() -> None:
    crowd = Crowd(10_000, [str(i) for i in range(9)])
    for size, first in ((8, 0), (6, 0), (8, 1), (9, 0)):
        addresses = [str(i) for i in range(first, first + size)]
        crowd.update(addresses)
        assert crowd.even(addresses, 0.1)


def test_who_moves_tries_new_members_then_old_ones_then_goes_round() -> None:
    members = MemberList(["a", "b", "c"], random.Random(3))
    while not members.update(["a", "b", "c", "d", "e"], "a"):
        members = MemberList(["a", "b", "c"], random.Random(random.random()))
    turns = [members.next() for _ in range(4)]
    assert set(turns[:2]) == {"d", "e"}
    assert set(turns[2:]) == {"b", "c"}
    assert sorted(members.next() for _ in range(5)) == ["a", "b", "c", "d", "e"]


def test_an_empty_list_or_the_same_one_changes_nothing() -> None:
    members = MemberList(["a", "b"], random.Random(3))
    assert not members.update([], "a")
    assert not members.update(["b", "a"], "a")
    assert sorted(members.addresses) == ["a", "b"]


# Names.


def test_a_connection_string_says_members_namespace_and_parameters() -> None:
    got = parse_address("tenure://h1:7400,h2,[::1]:7401/team/app?ttl=1m30s&lock_delay=500ms&name=worker")
    want = Address(
        endpoints=("h1:7400", "h2:7400", "[::1]:7401"),
        namespace="team/app",
        ttl=90.0,
        lock_delay=0.5,
        name="worker",
        scheme="tenure",
    )
    assert got == want
    assert parse_address("tenures://h").tls
    assert parse_address("h1:1,h2:2").endpoints == ("h1:1", "h2:2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tenure://",
        "tenure://h:0",
        "tenure://h:99999",
        "tenure://h,h:7400",
        "http://h",
        "tenure://h?ttl=soon",
        "tenure://h?ttl=15",
        "tenure://h?ttl=-1s",
        "tenure://h?lock_delay=1",
        "tenure://h?insecure=yes",
        "tenure://h?ca_file=",
        "tenure://h?ttl=1s&ttl=2s",
        "tenure://h?unknown=1",
        "tenure://a b",
    ],
)
def test_a_wrong_connection_string_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "want"), [("15s", 15.0), ("1h2m3s", 3723.0), ("1.5s", 1.5), ("0", 0.0), ("2us", 2e-6), ("7ms", 0.007)]
)
def test_durations(text: str, want: float) -> None:
    assert parse_duration(text) == pytest.approx(want)


def test_a_namespace_is_put_on_and_taken_off() -> None:
    namespace = Namespace("/team/app/")
    assert namespace.full("k") == "team/app/k"
    assert namespace.short("team/app/k") == "k"
    assert namespace.range_end("") == "team/app0"
    assert Namespace("").full("k") == "k"
    assert Namespace("").range_end("") == ""


def test_the_text_of_a_sequencer_is_that_of_every_language() -> None:
    session = "6f1c0b0e-4a57-4c39-9d6a-0c0f5d1b2a3e"
    s = Sequencer("app/k", 3, session, 99, "0123456789abcdef0123456789abcdef")
    assert s.to_text() == f"v1.YXBwL2s.3.{session}.99.0123456789abcdef0123456789abcdef"
    assert Sequencer.from_text(s.to_text()) == s
    with pytest.raises(ValueError, match="is not a sequencer"):
        Sequencer.from_text("v2.x")


def test_the_text_of_an_exported_session_is_that_of_every_language() -> None:
    c = Credentials("6f1c0b0e-4a57-4c39-9d6a-0c0f5d1b2a3e", bytes(range(32)), 2, 15.0, True)
    assert c.to_text() == (
        "ts1.6f1c0b0e-4a57-4c39-9d6a-0c0f5d1b2a3e.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8.2.15000.h"
    )
    assert Credentials.from_text(c.to_text()) == c
    assert "AAEC" not in repr(c)
    with pytest.raises(ValueError, match="exported session"):
        Credentials.from_text("ts1.x")


# Clocks.


def test_the_system_clock_goes_forward() -> None:
    clock = system_clock()
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)


def test_the_advancing_clock_takes_the_larger_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, wall = 50.0, 1000.0
    monkeypatch.setattr("time.monotonic", lambda: monotonic)
    monkeypatch.setattr("time.time", lambda: wall)
    clock = AdvancingClock()
    monotonic, wall = 51.0, 1000.5
    assert clock.now() == pytest.approx(1.0)
    monotonic, wall = 51.5, 1030.5  # The machine slept.
    assert clock.now() == pytest.approx(31.0)
    monotonic, wall = 52.5, 900.0  # Somebody set the wall clock back.
    assert clock.now() == pytest.approx(32.0)
