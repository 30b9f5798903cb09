"""What both clients do, without I/O.

Everything here is a value or a state machine: it is told what happened and when, and says what to do. It starts no
thread and no task, opens no connection, and reads no clock but the one it is given. `tenure.aio` drives it with
grpc.aio and `tenure.sync` drives that one from a thread of its own, so that both behave alike.
"""
