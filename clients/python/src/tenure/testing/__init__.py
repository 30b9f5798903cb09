"""A real member for your own tests: `with tenure.testing.Member() as member: tenure.connect(member.uri)`.

It starts the program that the environment variable TENURE_BINARY names, or `tenure` in PATH. pytest finds the fixtures
`tenure_member` and `tenure_uri` as soon as this package is installed.
"""

from tenure.testing._member import Cluster, Member, MemberFailed, find_binary

__all__ = ["Cluster", "Member", "MemberFailed", "find_binary"]
