package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Wire;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.session.HeldCore;
import io.tenure.internal.session.SessionCore;
import io.tenure.internal.watch.Observation;
import io.tenure.v1.ElectionServiceGrpc;
import io.tenure.v1.GetLeaderRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/**
 * An election. At most one of its candidates leads, and any client can see which. Candidates lead in the order in which they started to
 * wait. Any thread can use it.
 */
public final class Election {
  private final ClientCore core;
  private final SessionCore session;
  private final String key;

  Election(ClientCore core, SessionCore session, String key) {
    this.core = core;
    this.session = session;
    this.key = Objects.requireNonNull(key, "key");
  }

  /**
   * Campaigns: waits until this session leads, as long as the session lives.
   *
   * @param value the leader's value, which other clients see
   * @return the leadership
   * @throws TenureException as {@link Lock#acquire()} does
   */
  public Leadership campaign(String value) {
    return new Leadership(Held.of(Await.of(stand(value, Optional.empty(), Optional.empty(), position -> {}))));
  }

  /**
   * Campaigns for at most the given time.
   *
   * @param value the leader's value, which other clients see
   * @param wait how long to wait
   * @return the leadership
   * @throws TenureException.TimedOut if another session leads until then; the place in the queue is given up
   */
  public Leadership campaign(String value, Duration wait) {
    return new Leadership(Held.of(Await.of(stand(value, Optional.empty(), Optional.of(wait), position -> {}))));
  }

  /**
   * Campaigns. Cancelling the future gives up the place in the queue.
   *
   * @param value the leader's value, which other clients see
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(String value) {
    return campaignAsync(value, Optional.empty(), Optional.empty(), position -> {});
  }

  /**
   * Campaigns for at most the given time. Cancelling the future gives up the place in the queue. See {@link #campaign(String, Duration)}.
   *
   * @param value the leader's value, which other clients see
   * @param wait how long to wait
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(String value, Duration wait) {
    return campaignAsync(value, Optional.empty(), Optional.of(wait), position -> {});
  }

  /**
   * Campaigns under a name within the session, so that a leader can resign in favor of it: {@link Leadership#resignTo}.
   *
   * @param value the leader's value, which other clients see
   * @param owner the name within the session
   * @param wait how long to wait; empty for as long as the session lives
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(String value, String owner, Optional<Duration> wait) {
    return campaignAsync(value, Optional.of(owner), wait, position -> {});
  }

  /**
   * Campaigns, and reports how many candidates are before this one while it waits.
   *
   * @param value the leader's value, which other clients see
   * @param owner the name within the session; empty for a random one
   * @param wait how long to wait; empty for as long as the session lives
   * @param queued gets that number, on a thread of the client's pool
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(
      String value, Optional<String> owner, Optional<Duration> wait, IntConsumer queued) {
    return core.loop.shown(stand(value, owner, wait, queued), held -> new Leadership(Held.of(held)), HeldCore::unclaim);
  }

  /**
   * Runs a task each time this session becomes the leader, until the run is closed or the session ends. The task runs on a thread of the
   * client's pool, and should return when {@link Leadership#isSafe} turns false. When it returns, leadership is given up, and the
   * session campaigns again. While no member answers, it tries again; an exception in the task ends the run.
   *
   * @param value the leader's value, which other clients see
   * @param task what to do while it leads
   * @return the run
   */
  public ElectionRun run(String value, Consumer<Leadership> task) {
    if (session == null) {
      throw needsSession();
    }
    ElectionRun run = new ElectionRun(core, session, this, value, Objects.requireNonNull(task, "task"));
    run.start();
    return run;
  }

  /** {@return the current leader; empty if there is none} */
  public Optional<Leader> leader() {
    return Await.of(leaderInner());
  }

  /** {@return a future of the current leader; empty if there is none} */
  public CompletableFuture<Optional<Leader>> leaderAsync() {
    return core.loop.shown(leaderInner());
  }

  /**
   * {@return the current leader, then each change} Each subscriber gets them on threads of the client's pool, one call after
   * another. Cancel the subscription to end it; closing the client completes it.
   */
  public Flow.Publisher<LeaderChange> observe() {
    return subscriber -> new Observation(core, key, Objects.requireNonNull(subscriber, "subscriber")).start();
  }

  @Override
  public String toString() {
    return "Election[" + key + "]";
  }

  private static TenureException needsSession() {
    return Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
        "a campaign needs a session: use session.election()");
  }

  private CompletableFuture<HeldCore> stand(
      String value, Optional<String> owner, Optional<Duration> wait, IntConsumer queued) {
    LockOptions o = LockOptions.exclusive().withValue(value.getBytes(StandardCharsets.UTF_8)).onQueued(queued);
    return session == null ? CompletableFuture.failedFuture(needsSession())
        : new Lock(session, key, owner.map(o::withOwner).orElse(o)).begin(wait);
  }

  private CompletableFuture<Optional<Leader>> leaderInner() {
    return Futures.map(core.read(ElectionServiceGrpc.getGetLeaderMethod(),
        () -> GetLeaderRequest.newBuilder().setKey(core.namespace.key(key)).build()),
        r -> r.hasLeader() ? Optional.of(Wire.leader(r.getLeader())) : Optional.empty());
  }
}
