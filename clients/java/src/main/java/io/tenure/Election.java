package io.tenure;

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

/** An election: at most one of those who stand leads, and everyone can see who. Candidates are served in order. */
public final class Election {
  private final ClientCore core;
  private final SessionCore session;
  private final String key;

  Election(ClientCore core, SessionCore session, String key) {
    this.core = core;
    this.session = session;
    this.key = Objects.requireNonNull(key);
  }

  /**
   * Stands, and waits until elected, as long as the session lives. The value is what others see of the leader.
   *
   * @param value what others see of the leader
   * @return the leadership
   */
  public Leadership campaign(String value) {
    return new Leadership(Await.of(stand(value, Optional.empty(), Optional.empty(), position -> {})));
  }

  /**
   * Stands for at most so long.
   *
   * @param value what others see of the leader
   * @param wait how long to wait at most
   * @return the leadership
   * @throws TenureException.TimedOut when others led all the time; the candidacy is then given up
   */
  public Leadership campaign(String value, Duration wait) {
    return new Leadership(Await.of(stand(value, Optional.empty(), Optional.of(wait), position -> {})));
  }

  /**
   * Stands; cancelling the future gives the candidacy up.
   *
   * @param value what others see of the leader
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(String value) {
    return campaignAsync(value, Optional.empty(), Optional.empty(), position -> {});
  }

  /**
   * Stands for at most so long; cancelling the future gives the candidacy up. See {@link #campaign(String, Duration)}.
   *
   * @param value what others see of the leader
   * @param wait how long to wait at most
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(String value, Duration wait) {
    return campaignAsync(value, Optional.empty(), Optional.of(wait), position -> {});
  }

  /**
   * Stands under a name within the session, so that another leader can resign in its favour.
   *
   * @param value what others see of the leader
   * @param owner the name within the session
   * @param wait how long to wait at most; empty for as long as the session lives
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(String value, String owner, Optional<Duration> wait) {
    return campaignAsync(value, Optional.of(owner), wait, position -> {});
  }

  /**
   * Stands, and tells how many candidates are before this one while it waits.
   *
   * @param value what others see of the leader
   * @param owner the name within the session; empty for a random one
   * @param wait how long to wait at most; empty for as long as the session lives
   * @param queued is told, on a thread of the client's pool
   * @return a future of the leadership
   */
  public CompletableFuture<Leadership> campaignAsync(
      String value, Optional<String> owner, Optional<Duration> wait, IntConsumer queued) {
    return core.loop.shown(stand(value, owner, wait, queued), Leadership::new, Held::unclaim);
  }

  /**
   * Leads again and again, until the run is closed or the session ends. The task runs at the beginning of each leadership,
   * on a thread of the client's pool; it should return, and tell others to stop, when {@link Held#isSafe} turns false.
   * Leadership is given up when it returns. When no member answers it stands again later; what the task throws ends the
   * run.
   *
   * @param value what others see of the leader
   * @param task what to do while it leads
   * @return the run
   */
  public ElectionRun run(String value, Consumer<Leadership> task) {
    if (session == null) {
      throw needsSession();
    }
    ElectionRun run = new ElectionRun(core, session, this, value, Objects.requireNonNull(task));
    run.start();
    return run;
  }

  /** {@return who leads; empty when nobody does} */
  public Optional<Leader> leader() {
    return Await.of(leaderInner());
  }

  /** {@return who leads; empty when nobody does} */
  public CompletableFuture<Optional<Leader>> leaderAsync() {
    return core.loop.shown(leaderInner());
  }

  /**
   * {@return who leads now, then every change} Each subscriber has an observation of its own, and is called on threads of the
   * client's pool, one call after another. Cancel the subscription to end it; closing the client completes it.
   */
  public Flow.Publisher<LeaderChange> observe() {
    return subscriber -> new Observation(core, key, Objects.requireNonNull(subscriber)).start();
  }

  private static TenureException needsSession() {
    return TenureException.of(ErrorKind.INVALID_ARGUMENT, Applied.NO,
        "to stand in an election needs a session: take it from session.election()");
  }

  private CompletableFuture<Held> stand(
      String value, Optional<String> owner, Optional<Duration> wait, IntConsumer queued) {
    LockOptions o = LockOptions.exclusive().withValue(value.getBytes(StandardCharsets.UTF_8)).onQueued(queued);
    return session == null ? CompletableFuture.failedFuture(needsSession())
        : new Lock(session, key, owner.map(o::withOwner).orElse(o)).begin(wait);
  }

  private CompletableFuture<Optional<Leader>> leaderInner() {
    return Futures.map(core.read(ElectionServiceGrpc.getGetLeaderMethod(),
        () -> GetLeaderRequest.newBuilder().setKey(core.namespace.key(key)).build()),
        r -> r.hasLeader() ? Optional.of(Leader.of(r.getLeader())) : Optional.empty());
  }
}
