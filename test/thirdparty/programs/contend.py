"""Uses a Python library made for Consul: contend.py LIBRARY ADDRESS FOLDER tour|contend.

tour makes each call once and ends. contend is a loop of Consul's guide to leader election: it acquires a key, notes in FOLDER that it is in, leaves
and releases, and prints a line for each time; it runs until it is ended.
"""

import base64
import os
import sys
import threading
import time

INSIDE, PAUSE, RETRY = 0.02, 0.05, 0.3
KEY = "thirdparty/leader/" + sys.argv[1]
T = "tour-" + sys.argv[1]  # Each library has keys of its own: a lock that one lost is delayed.


class Common:
    """What python-consul, python-consul2 and py-consul have alike."""

    def __init__(self, host, port):
        import consul

        self.consul = consul.Consul(host=host, port=port)

    def create(self):
        return self.consul.session.create(name="contender", ttl=10, lock_delay=1)

    def renew(self, session):
        self.consul.session.renew(session)

    def acquire(self, session):
        return self.consul.kv.put(KEY, "here", acquire=session)

    def release(self, session):
        return self.consul.kv.put(KEY, "gone", release=session)

    def wait(self):
        index, row = self.consul.kv.get(KEY)
        while row and "Session" in row:
            index, row = self.consul.kv.get(KEY, index=index, wait="2s")

    def tour(self):
        kv, session = self.consul.kv, self.consul.session
        assert kv.put(f"{T}/a", "one", flags=7)
        index, row = kv.get(f"{T}/a")
        assert row["Value"] == b"one" and row["Flags"] == 7 and int(index) == row["ModifyIndex"], row
        assert kv.put(f"{T}/a", "two", cas=row["ModifyIndex"]) is True
        assert kv.put(f"{T}/a", "three", cas=row["ModifyIndex"]) is False
        assert kv.put(f"{T}/b/c", "")
        assert kv.get(f"{T}/", keys=True, separator="/")[1] == [f"{T}/a", f"{T}/b/"]
        assert len(kv.get(f"{T}/", recurse=True)[1]) == 2
        assert kv.get(f"{T}/none")[1] is None
        # A read that waits is woken by the change of its key.
        index, _ = kv.get(f"{T}/a")
        threading.Timer(0.2, lambda: kv.put(f"{T}/a", "changed")).start()
        woken, row = kv.get(f"{T}/a", index=index, wait="60s")
        assert int(woken) > int(index) and row["Value"] == b"changed", row
        # Sessions, and what they hold.
        one = session.create(name="one", ttl=10, behavior="delete")
        _, info = session.info(one)
        assert info["Name"] == "one" and info["TTL"] == "10s" and info["Behavior"] == "delete", info
        assert one in [s["ID"] for s in session.list()[1]]
        assert one in [s["ID"] for s in session.node(info["Node"])[1]]
        assert session.renew(one)["ID"] == one
        assert kv.put(f"{T}/lock", "held", acquire=one) is True
        other = session.create(lock_delay=0)
        assert kv.put(f"{T}/lock", "held", acquire=other) is False
        assert kv.get(f"{T}/lock")[1]["Session"] == one
        assert session.destroy(one) is True
        assert kv.get(f"{T}/lock")[1] is None
        assert session.info(one)[1] is None
        # A delete of a held key frees its lock.
        assert kv.put(f"{T}/other", "held", acquire=other) is True
        assert kv.delete(f"{T}/other") is True
        assert kv.put(f"{T}/other", "held", acquire=other) is True
        if hasattr(self.consul, "txn"):
            value = base64.b64encode(b"in a transaction").decode()
            self.consul.txn.put([{"KV": {"Verb": "set", "Key": f"{T}/txn", "Value": value}}])
            assert kv.get(f"{T}/txn")[1]["Value"] == b"in a transaction"
        assert kv.delete(f"{T}/", recurse=True) is True
        assert kv.get(f"{T}/", recurse=True)[1] is None
        assert self.consul.status.leader() and self.consul.status.peers()
        assert self.consul.agent.self()["Config"]["Datacenter"] == "dc1"
        assert self.consul.catalog.datacenters() == ["dc1"]


class Consulate:
    """consulate, which does not wait for changes."""

    def __init__(self, host, port):
        import json

        import consulate

        # It gives json an argument that Python has not had since 3.9.
        loads = json.loads
        json.loads = lambda text, encoding=None, **more: loads(text, **more)
        self.consul = consulate.Consul(host=host, port=port)

    def create(self):
        return self.consul.session.create(name="contender", ttl="10s", delay="1s")

    def renew(self, session):
        self.consul.session.renew(session)

    def acquire(self, session):
        return self.checked(self.consul.kv.acquire_lock(KEY, session))

    def release(self, session):
        return self.checked(self.consul.kv.release_lock(KEY, session))

    @staticmethod
    def checked(answer):
        if not isinstance(answer, bool):
            raise RuntimeError(answer)  # It returns the text of an error as if it were an answer.
        return answer

    def wait(self):
        time.sleep(PAUSE)

    def tour(self):
        kv, session = self.consul.kv, self.consul.session
        kv[f"{T}/a"] = "one"
        assert kv[f"{T}/a"] == "one" and f"{T}/a" in kv and f"{T}/none" not in kv
        kv.set_record(f"{T}/b", flags=7, value="two")
        assert kv.get_record(f"{T}/b")["Flags"] == 7
        assert sorted(kv.find(f"{T}/")) == [f"{T}/a", f"{T}/b"]
        one, other = session.create(ttl="10s", delay="1s"), session.create()
        assert one in [s["ID"] for s in session.list()]
        assert kv.acquire_lock(f"{T}/lock", one) is True
        assert kv.acquire_lock(f"{T}/lock", other) is False
        assert kv.release_lock(f"{T}/lock", one) is True
        assert kv.acquire_lock(f"{T}/lock", other) is True
        assert session.destroy(one)
        del kv[f"{T}/a"]
        kv.delete(f"{T}/", recurse=True)
        assert not kv.find(f"{T}/")
        assert self.consul.status.leader()


def contend(library, folder):
    session = None
    while True:
        try:
            if session is None:
                session = library.create()
            library.renew(session)
            if not library.acquire(session):
                library.wait()
                continue
            place = os.path.join(folder, "0")
            try:
                os.mkdir(place)
            except FileExistsError:
                print("two are in", flush=True)
                return 1
            time.sleep(INSIDE)
            os.rmdir(place)
            if not library.release(session):
                session = None  # It was lost, and so was the session.
            print("in", flush=True)
            time.sleep(PAUSE)
        except Exception as failure:  # Whatever the library makes of a member that is gone.
            print("failed:", repr(failure)[:200], flush=True)
            if "404" in repr(failure) or "NotFound" in repr(failure) or "not found" in repr(failure) or "invalid session" in repr(failure):
                session = None
            time.sleep(RETRY)


def main():
    name, address, folder, what = sys.argv[1:]
    host, port = address.split(":")
    library = (Consulate if name == "consulate" else Common)(host, int(port))
    if what == "tour":
        library.tour()
        print("toured")
        return 0
    return contend(library, folder)


sys.exit(main())
