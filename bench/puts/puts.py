"""Puts all the time with one client of the Python library, for `bench -workloads outage`.

    puts.py CONNECTION CALLERS

CALLERS threads share the client. Each put that succeeds prints when it began, and each that fails prints "failed". The time is in nanoseconds since
the Unix epoch, by this machine's clock. The program works until its standard output is closed, or it is killed.
"""

import sys
import threading
import time

import tenure


def put(client: tenure.Client, key: str, out: threading.Lock) -> None:
    while True:
        began = time.time_ns()
        try:
            client.kv.put(key, b"v")
            line = str(began)
        except tenure.TenureError:
            line = "failed"
        with out:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def main() -> None:
    connection, callers = sys.argv[1], int(sys.argv[2])
    out = threading.Lock()
    with tenure.connect(connection) as client:
        threads = [threading.Thread(target=put, args=(client, f"bench/outage/{i}", out)) for i in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


main()
