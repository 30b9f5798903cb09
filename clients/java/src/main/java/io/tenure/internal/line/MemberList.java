package io.tenure.internal.line;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** The members that a client knows, in the order in which it tries them: a random one first, then round robin. Only the loop touches it. */
final class MemberList {
  private final Random random;
  /** The members that the user named. */
  private final List<String> named;
  private List<String> members;
  private int next;

  /** What an update changed: the members before and after it, and those of after that are old and new. */
  record Update(List<String> before, List<String> after, List<String> kept, List<String> fresh) {}

  MemberList(Collection<String> named, Random random) {
    this.random = random;
    this.named = List.copyOf(named);
    this.members = new ArrayList<>(new LinkedHashSet<>(named));
    Collections.shuffle(this.members, random);
  }

  List<String> all() {
    return List.copyOf(members);
  }

  int size() {
    return members.size();
  }

  boolean has(String member) {
    return members.contains(member);
  }

  /**
   * Returns whom to try after so many failures: all members that are known, and after each round of them, one that the user named. The cluster may
   * have told addresses that cannot be reached from here, or may have moved while this client was cut off.
   */
  String pick(int failures) {
    boolean round = failures % (members.size() + 1) == members.size();
    if (round && !members.containsAll(named)) {
      return named.get(random.nextInt(named.size()));
    }
    return members.get(next++ % members.size());
  }

  /** Takes the list of members as the cluster has it now. Returns what changed; null if it is empty or the same. */
  Update update(List<String> now) {
    Set<String> wanted = new LinkedHashSet<>(now);
    if (wanted.isEmpty() || wanted.equals(new HashSet<>(members))) {
      return null;
    }
    List<String> before = members;
    List<String> after = new ArrayList<>(before);
    after.retainAll(wanted);
    List<String> kept = List.copyOf(after);
    List<String> fresh = new ArrayList<>(wanted);
    fresh.removeAll(after);
    Collections.shuffle(fresh, random);
    for (String member : fresh) {
      after.add(random.nextInt(after.size() + 1), member);
    }
    members = after;
    next = random.nextInt(after.size());
    return new Update(before, after, kept, fresh);
  }

  /** Returns members in an order for one client: first some of them, then others, without one. */
  List<String> shuffled(List<String> first, List<String> then, String without) {
    List<String> order = new ArrayList<>(first);
    Collections.shuffle(order, random);
    List<String> rest = new ArrayList<>(then);
    Collections.shuffle(rest, random);
    order.addAll(rest);
    order.remove(without);
    return order;
  }
}
