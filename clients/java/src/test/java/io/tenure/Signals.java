package io.tenure;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A subscriber that keeps what it is told, and asks for everything unless it is said otherwise. */
final class Signals<T> implements Flow.Subscriber<T> {
  /** That the publisher said that it is done. */
  static final Object DONE = new Object();

  private final BlockingQueue<Object> told = new LinkedBlockingQueue<>();
  private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
  private final long demand;
  private final Runnable atNext;

  private Signals(long demand, Runnable atNext) {
    this.demand = demand;
    this.atNext = atNext;
  }

  /** Subscribes, and asks for everything. */
  static <T> Signals<T> of(Flow.Publisher<T> publisher) {
    return of(publisher, Long.MAX_VALUE, () -> { });
  }

  /** Subscribes, asks for so much, and does this whenever it is told something. */
  static <T> Signals<T> of(Flow.Publisher<T> publisher, long demand, Runnable atNext) {
    Signals<T> s = new Signals<>(demand, atNext);
    publisher.subscribe(s);
    return s;
  }

  Flow.Subscription subscription() throws Exception {
    return subscription.get(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
  }

  /** Returns what was told next: a message, an error, or DONE. */
  Object next() throws Exception {
    return WithFakeMember.next(told);
  }

  TenureException failure() throws Exception {
    return (TenureException) next();
  }

  boolean isSilent() {
    return told.isEmpty();
  }

  @Override
  public void onSubscribe(Flow.Subscription s) {
    subscription.complete(s);
    if (demand > 0) {
      s.request(demand);
    }
  }

  @Override
  public void onNext(T item) {
    told.add(item);
    atNext.run();
  }

  @Override
  public void onError(Throwable t) {
    told.add(t);
  }

  @Override
  public void onComplete() {
    told.add(DONE);
  }
}
