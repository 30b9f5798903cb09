package io.tenure;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A subscriber that asks for everything and keeps what it is told. */
final class Signals<T> implements Flow.Subscriber<T> {
  /** That the publisher said that it is done. */
  static final Object DONE = new Object();

  private final BlockingQueue<Object> told = new LinkedBlockingQueue<>();
  private final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();

  /** Subscribes, and asks for everything. */
  static <T> Signals<T> of(Flow.Publisher<T> publisher) {
    Signals<T> s = new Signals<>();
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
    s.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(T item) {
    told.add(item);
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
