package io.tenure;

import io.tenure.internal.Await;
import io.tenure.internal.Backoff;
import io.tenure.internal.Exceptions;
import io.tenure.internal.Futures;
import io.tenure.internal.Loop;
import io.tenure.internal.session.ClientCore;
import io.tenure.internal.watch.Filling;
import io.tenure.internal.watch.WatchCore;
import io.tenure.v1.CatalogServiceGrpc;
import io.tenure.v1.Event;
import io.tenure.v1.ListInstancesRequest;
import io.tenure.v1.ListInstancesResponse;
import io.tenure.v1.ServiceInstance;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The instances that pass, of some services, kept up to date by a watch. {@link #begin} fills it; before that it cannot be read. Reading
 * it makes no call. The instances of a service are those of one revision; of more than 1 000, or about 1 MiB, some may for a moment be
 * older than others if the service changes while they are read. While no member can be reached, it still shows what it has. Any thread can
 * use it.
 */
public final class ServiceList implements AutoCloseable {
  private final ClientCore core;
  private final List<String> names;
  private final Filling filling = new Filling();
  /** Held while something is read: a watch that was given up may not have ended yet. No listener is called under it. */
  private final Object feeding = new Object();
  private final List<Consumer<Map<String, List<Instance>>>> listeners = new CopyOnWriteArrayList<>();
  /** Where they are told, in order. The next message is asked for after that. */
  private final Executor telling;
  private volatile Map<String, List<Instance>> passing = Map.of();
  private volatile TenureException failure;
  /** How often in a row the history was lost before the list was filled again. */
  private volatile int losses;
  /** The revision of each service, and where its instances are, in lower case. Guarded by feeding, as what follows. */
  private final Map<String, Long> shown = new HashMap<>();
  private final Map<String, Set<String>> nodes = new HashMap<>();

  ServiceList(ClientCore core, List<String> services) {
    if (services.isEmpty()) {
      throw Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, "no service is named");
    }
    this.core = core;
    this.names = services.stream().sorted().distinct().toList();
    this.telling = core.loop.serial();
  }

  /**
   * Starts it, and waits until it is filled, for as long as that takes. If every caller that waits for that gives up, by an interrupt or by
   * cancelling the future, its watch is closed; the next call starts it again.
   *
   * @return this list
   * @throws TenureException of kind CANCELLED if it is closed before that
   */
  public ServiceList begin() {
    return Await.of(beginInner());
  }

  /**
   * Starts it; see {@link #begin}.
   *
   * @return a future that completes with this list when it is filled
   */
  public CompletableFuture<ServiceList> beginAsync() {
    return core.loop.shown(beginInner());
  }

  /**
   * {@return the instances of a service that pass, ordered by node and id}
   *
   * @param service the name of the service
   * @throws IllegalStateException if the list is not filled yet
   */
  public List<Instance> instances(String service) {
    return all().getOrDefault(Objects.requireNonNull(service, "service"), List.of());
  }

  /**
   * {@return the instances that pass, by the name of the service} A service without one has an empty list.
   *
   * @throws IllegalStateException if the list is not filled yet
   */
  public Map<String, List<Instance>> all() {
    if (!filling.isFilled()) {
      throw new IllegalStateException("the service list is not filled: call begin() before it is read");
    }
    return passing;
  }

  /** {@return why it is no longer updated; empty while it is, and after {@link #close}} */
  public Optional<TenureException> failure() {
    return Optional.ofNullable(failure);
  }

  /**
   * Registers a listener: it gets what {@link #all} returns, after each change. An exception in it goes to the thread's handler of
   * uncaught exceptions. While it runs, no further message of the watch is read; the list itself may already be one state ahead.
   *
   * @param listener gets the states in order, on a thread of the client's pool
   */
  public void onChange(Consumer<Map<String, List<Instance>>> listener) {
    listeners.add(Objects.requireNonNull(listener, "listener"));
  }

  /** Ends the watch. The list can still be read, and no longer changes. A {@link #begin} that waits fails as CANCELLED. */
  @Override
  public void close() {
    filling.close(Exceptions.of(ErrorKind.CANCELLED, Applied.NO, "the service list is closed"));
  }

  private CompletableFuture<ServiceList> beginInner() {
    return Futures.map(filling.await(() -> follow(null)), v -> this);
  }

  /** Begins a watch after the one before, null for none, and reads all once it has begun. */
  private void follow(WatchCore before) {
    WatchCore w = new WatchCore(core, WatchOptions.services(names).plan());
    if (!filling.feed(before, w)) {
      return;
    }
    w.beginAsync().whenComplete((v, error) -> core.loop.onPool(() -> {
      if (error != null) {
        ended(w, Futures.error(error));
      } else if (guarded(w, () -> load(w, names))) {
        losses = 0;
        boolean first = !filling.isFilled();
        filling.fill(w);
        if (first) {
          Map<String, List<Instance>> now = passing;
          telling.execute(() -> tell(now));
        }
        w.publisher().subscribe(new Feed(w));
      }
    }));
  }

  /** Reads what the watch says. Its methods may block: they run on the pool, one after another. */
  private final class Feed implements Flow.Subscriber<WatchMessage> {
    private final WatchCore from;
    private Flow.Subscription subscription;

    Feed(WatchCore from) {
      this.from = from;
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription = s;
      s.request(1);
    }

    @Override
    public void onNext(WatchMessage m) {
      List<Event> events = from.given();
      if (guarded(from, () -> take(from, events))) {
        telling.execute(() -> subscription.request(1));
      } else {
        subscription.cancel();
      }
    }

    @Override
    public void onError(Throwable t) {
      ended(from, t);
    }

    @Override
    public void onComplete() {
      over(from, ClientCore.closedError());
    }
  }

  /** Goes on after what history forgot, or ends. */
  private void ended(WatchCore w, Throwable t) {
    if (t instanceof TenureException.HistoryLost && !filling.isClosed()) {
      CompletableFuture.delayedExecutor(
          Backoff.pauseNanos(losses++, core.random), TimeUnit.NANOSECONDS, core.loop::onPool).execute(() -> follow(w));
    } else {
      over(w, t instanceof TenureException e
          ? e : Exceptions.of(ErrorKind.INTERNAL, Applied.NO, "fault in the client", Map.of(), t));
    }
  }

  private void over(WatchCore w, TenureException why) {
    if (!filling.isFedBy(w)) {
      return; // Nobody waits for it any more.
    }
    if (!filling.isClosed()) {
      failure = why;
    }
    filling.fail(why);
  }

  /** Does something that reads; an error ends the list. */
  private boolean guarded(WatchCore w, Runnable reading) {
    try {
      synchronized (feeding) {
        if (!filling.isFedBy(w)) {
          return false;
        }
        reading.run();
      }
      return true;
    } catch (TenureException e) {
      over(w, e);
      return false;
    }
  }

  /** Reads services anew that events are about, unless they were read at their revision or later: one read follows the other. */
  private void take(WatchCore w, List<Event> events) {
    for (Event e : events) {
      for (String name : concerned(e)) {
        if (e.getRevision() > shown.get(name)) {
          load(w, List.of(name));
        }
      }
    }
  }

  /** Returns the services of the list that an event may be about. */
  private List<String> concerned(Event e) {
    String name = e.hasCheck() ? e.getCheck().getServiceName() : e.getService().getName();
    String node = e.hasCheck() ? e.getCheck().getNode() : e.hasNode() ? e.getNode().getName() : e.getService().getNode();
    if (names.contains(name)) {
      return List.of(name);
    }
    if (!name.isEmpty()) {
      return names; // It had another name before.
    }
    // The node, and a check of it, count for all instances on it.
    return names.stream().filter(n -> nodes.get(n).contains(node.toLowerCase(Locale.ROOT))).toList();
  }

  /**
   * Reads services in pages. Each page is of a revision of its own, so a service counts as read at that of its first page: an event after it has the
   * service read again.
   */
  private void load(WatchCore w, List<String> some) {
    for (String name : some) {
      List<Instance> found = new ArrayList<>();
      Set<String> on = new HashSet<>();
      String page = "";
      long at = 0;
      ListInstancesResponse r;
      do {
        r = read(w, name, page);
        at = at == 0 ? r.getHeader().getRevision() : at;
        for (ServiceInstance i : r.getInstancesList()) {
          on.add(i.getService().getNode().toLowerCase(Locale.ROOT));
          if (i.getStatus() == io.tenure.v1.CheckStatus.CHECK_STATUS_PASSING) {
            found.add(Instance.of(i));
          }
        }
        page = r.getNextPageToken();
      } while (!page.isEmpty());
      shown.put(name, at);
      nodes.put(name, on);
      show(name, List.copyOf(found));
    }
  }

  /** Reads a page, for as long as it takes to reach a member, unless nobody waits for it any more. */
  private ListInstancesResponse read(WatchCore w, String name, String page) {
    while (true) {
      try {
        return Await.uninterrupted(core.read(CatalogServiceGrpc.getListInstancesMethod(),
            () -> ListInstancesRequest.newBuilder().setService(name).setPageToken(page).build()));
      } catch (TenureException.Unavailable e) {
        if (filling.isClosed() || !filling.isFedBy(w) || e.kind() == ErrorKind.TLS_FAILED) {
          throw e;
        }
      }
    }
  }

  private void show(String name, List<Instance> found) {
    if (found.equals(passing.get(name))) {
      return;
    }
    Map<String, List<Instance>> all = new TreeMap<>(passing);
    all.put(name, found);
    passing = Collections.unmodifiableMap(all);
    if (!filling.isFilled()) {
      return; // Listeners are told once it is.
    }
    Map<String, List<Instance>> now = passing;
    telling.execute(() -> tell(now));
  }

  private void tell(Map<String, List<Instance>> now) {
    if (filling.isClosed()) {
      return;
    }
    for (Consumer<Map<String, List<Instance>>> l : listeners) {
      // One that throws keeps neither the others nor the list from what comes.
      Loop.guarded(() -> l.accept(now));
    }
  }
}
