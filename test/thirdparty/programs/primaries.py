"""Writes to databases, to see which is the primary: primaries.py HOST:PORT...

It asks all of them again and again, and says `primary HOST:PORT` when another one takes writes, or `none`. If two take writes at the same time it
says so as a fault and ends: the first is asked once more after the second, so that one that has just ended is not counted.
"""

import sys
import time

import psycopg

PAUSE = 0.05
connections = {}


def writes(address):
    """Reports whether a database has taken a write now."""
    host, port = address.split(":")
    try:
        if address not in connections:
            connections[address] = psycopg.connect(
                host=host, port=port, user="postgres", dbname="postgres", connect_timeout=2, autocommit=True, options="-c statement_timeout=2000"
            )
        row = connections[address].execute("select pg_is_in_recovery()").fetchone()
        if row[0]:
            return False
        connections[address].execute("create table if not exists seen (at timestamptz)")
        connections[address].execute("insert into seen values (now())")
        return True
    except psycopg.Error:
        gone = connections.pop(address, None)
        if gone is not None:
            gone.close()
        return False


last = None
while True:
    primaries = [address for address in sys.argv[1:] if writes(address)]
    if len(primaries) > 1 and sum(writes(address) for address in primaries) > 1:
        print("fault two databases take writes:", *primaries, flush=True)
        sys.exit(1)
    now = "primary " + primaries[-1] if primaries else "none"
    if now != last:
        print(now, flush=True)
    last = now
    time.sleep(PAUSE)
