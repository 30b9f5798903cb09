package io.tenure.internal.line;

import io.tenure.Applied;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import java.util.HashMap;
import java.util.Map;

/**
 * Why members did not answer the last time, until they do. As long as no member was ever connected to, what waits for a connection is told when TLS
 * fails at every member for a certificate: waiting does not help then. Only the loop touches it.
 */
final class Causes {
  private final MemberList members;
  private final Pending pending;
  private final Door door;
  private final Map<String, Cause> causes = new HashMap<>();
  /** Whether a member was ever connected to. */
  private boolean reached;

  /** Why a member did not answer, in which attempt, and whether a certificate is to blame. */
  private record Cause(String text, boolean certificate, long attempt) {}

  Causes(MemberList members, Pending pending, Door door) {
    this.members = members;
    this.pending = pending;
    this.door = door;
  }

  /** Notes why a member did not answer, or could not do what it was asked. */
  void note(Connection c, String why) {
    note(c.address(), new Cause(why, false, c.attempt()));
  }

  /** Likewise, by the error of the first call. */
  void note(Connection c, Throwable error) {
    note(c.address(), new Cause(Unreachable.why(error, door), Unreachable.certificate(error), c.attempt()));
  }

  /** Notes that it is not possible to connect to an address, because of its form or of the files for TLS. */
  void note(String address, TenureException why, long attempt) {
    boolean file = why.kind() == ErrorKind.TLS_FAILED;
    note(address, new Cause((file ? Unreachable.TLS : "") + why.getMessage(), file, attempt));
  }

  private void note(String address, Cause cause) {
    if (members.has(address)) {
      causes.put(address, cause);
      tellDistrusted();
    }
  }

  private void tellDistrusted() {
    if (reached || !members.all().stream().allMatch(m -> causes.containsKey(m) && causes.get(m).certificate())) {
      return;
    }
    long oldest = members.all().stream().mapToLong(m -> causes.get(m).attempt()).min().orElse(0);
    pending.fail(oldest, Exceptions.of(ErrorKind.TLS_FAILED, Applied.NO, "no member could be reached: " + tried()));
  }

  /** Says that a member was connected to. */
  void reached() {
    reached = true;
  }

  /** Says that a member answered. */
  void answered(String member) {
    causes.remove(member);
  }

  /** Forgets those that are members no more. */
  void prune() {
    causes.keySet().retainAll(members.all());
  }

  /** Returns the members, each with why it did not answer the last time, for people. */
  String tried() {
    return String.join(", ",
        members.all().stream().map(m -> causes.containsKey(m) ? m + " (" + causes.get(m).text() + ")" : m).toList());
  }
}
