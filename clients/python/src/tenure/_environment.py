"""What gRPC reads from the environment when it is first imported; this module comes before that.

gRPC's fork handlers cannot work while an asyncio call is under way, which for a client is always, and then they crash
forked children now and then. Without them a child that does not use gRPC is safe, and one that tries to is told so by
ForkedError. Whoever needs the handlers for other uses of gRPC sets the variable to 1.
"""

from __future__ import annotations

import os

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
