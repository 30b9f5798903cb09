"""A real member for your own tests: `with tenure.testing.Member() as member: tenure.connect(member.uri)`.

The program is found by the environment variable TENURE_BINARY, or as `tenure` in PATH. With pytest the fixtures
`tenure_member` and `tenure_uri` are there as soon as this package is installed.
"""

from tenure.testing._member import Cluster, Member, MemberFailed, find_binary

__all__ = ["Cluster", "Member", "MemberFailed", "find_binary"]
