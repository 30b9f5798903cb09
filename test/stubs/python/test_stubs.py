"""The generated Python stubs, by real calls against the real program."""

import importlib
import pkgutil

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

import tenure.v1
from tenure.v1 import (
    cluster_pb2,
    cluster_pb2_grpc,
    kv_pb2,
    kv_pb2_grpc,
    lock_pb2,
    lock_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
    watch_pb2,
    watch_pb2_grpc,
)

SECONDS = 60


def new_session(channel, name):
    request = session_pb2.CreateSessionRequest(name=name, ttl=Duration(seconds=60), lock_delay=Duration())
    return session_pb2_grpc.SessionServiceStub(channel).CreateSession(request, timeout=SECONDS)


def test_every_generated_module_can_be_imported():
    names = [module.name for module in pkgutil.iter_modules(tenure.v1.__path__)]
    assert "kv_pb2" in names and "kv_pb2_grpc" in names
    for name in names:
        importlib.import_module("tenure.v1." + name)


def test_a_lock_passes_from_one_session_to_the_next(channel):
    sessions = session_pb2_grpc.SessionServiceStub(channel)
    kv = kv_pb2_grpc.KVServiceStub(channel)
    key = "stubs/python/leader"
    first = new_session(channel, "first")
    second = new_session(channel, "second")
    assert first.session_id != second.session_id
    assert first.ttl.ToSeconds() == 60

    won = kv.Put(kv_pb2.PutRequest(key=key, value=b"one", acquire=first.session_id), timeout=SECONDS)
    assert won.acquired
    assert won.sequencer.session_id == first.session_id
    assert won.sequencer.lock_index == 1
    assert won.sequencer.fencing_token == won.header.revision

    got = kv.Get(kv_pb2.GetRequest(key=key), timeout=SECONDS)
    assert got.kv.value == b"one"
    assert got.kv.session_id == first.session_id

    lost = kv.Put(kv_pb2.PutRequest(key=key, text="two", acquire=second.session_id), timeout=SECONDS)
    assert not lost.acquired
    assert [hold.session_name for hold in lost.lock.holds] == ["first"]
    assert lost.lock.holds[0].sequencer == won.sequencer
    assert kv.Get(kv_pb2.GetRequest(key=key), timeout=SECONDS).kv.value == b"one"

    request = watch_pb2.WatchRequest(keys=[key], after_revision=won.header.revision)
    watch = watch_pb2_grpc.WatchServiceStub(channel).Watch(request, timeout=SECONDS)
    assert next(watch).started.after_revision == won.header.revision

    released = kv.Put(kv_pb2.PutRequest(key=key, text="free", release=first.session_id), timeout=SECONDS)
    assert released.released
    event = next_event(watch)
    assert event.revision == released.header.revision
    assert event.kv.key == key
    assert event.kv.value == b"free"
    assert event.kv.session_id == ""
    watch.cancel()

    retried = kv.Put(kv_pb2.PutRequest(key=key, text="two", acquire=second.session_id), timeout=SECONDS)
    assert retried.acquired
    assert retried.sequencer.lock_index == 2
    assert retried.sequencer.fencing_token > won.sequencer.fencing_token

    ended = sessions.DestroySession(
        session_pb2.DestroySessionRequest(session_id=second.session_id, clean=True), timeout=SECONDS)
    assert ended.destroyed
    assert ended.holds == 1
    told = sessions.GetSession(session_pb2.GetSessionRequest(session_id=second.session_id), timeout=SECONDS)
    assert told.session.end.cause == session_pb2.SESSION_END_CAUSE_DESTROYED
    assert list(told.session.end.held_keys) == [key]
    lock = lock_pb2_grpc.LockServiceStub(channel).GetLock(lock_pb2.GetLockRequest(key=key), timeout=SECONDS).lock
    assert lock.holders == 0
    assert lock.lock_index == 2
    sessions.DestroySession(session_pb2.DestroySessionRequest(session_id=first.session_id), timeout=SECONDS)


def next_event(watch):
    """Returns the next event of a watch, past progress marks."""
    for message in watch:
        if message.WhichOneof("message") == "events":
            return message.events.events[0]
    raise AssertionError("the watch ended without an event")


def test_a_session_is_kept_alive_over_a_stream(channel):
    session = new_session(channel, "renewed")
    renewal = session_pb2.SessionRenewal(session_id=session.session_id, epoch=session.epoch, number=7)
    unknown = session_pb2.SessionRenewal(session_id="00000000-0000-4000-8000-000000000000", number=8)
    request = session_pb2.KeepAliveRequest(renewals=[renewal, unknown])
    verdicts = {}
    for answer in session_pb2_grpc.SessionServiceStub(channel).KeepAlive(iter([request]), timeout=SECONDS):
        verdicts.update((verdict.number, verdict) for verdict in answer.verdicts)
        if len(verdicts) == 2:
            break
    assert verdicts[7].ttl.ToSeconds() == 60
    assert verdicts[7].refused == 0
    assert verdicts[8].refused != 0


def test_a_missing_key_is_not_found(channel):
    with pytest.raises(grpc.RpcError) as caught:
        kv_pb2_grpc.KVServiceStub(channel).Get(kv_pb2.GetRequest(key="stubs/python/missing"), timeout=SECONDS)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_the_member_knows_its_leader(channel):
    status = cluster_pb2_grpc.ClusterServiceStub(channel).GetStatus(cluster_pb2.GetStatusRequest(), timeout=SECONDS)
    assert [member.name for member in status.members if member.leader] == [status.leader]
