package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.grpc.stub.StreamObserver;
import io.tenure.internal.line.Silence;
import io.tenure.internal.watch.WatchCore;
import io.tenure.v1.Event;
import io.tenure.v1.EventType;
import io.tenure.v1.WatchEvents;
import io.tenure.v1.WatchProgress;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchStarted;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A member begins a watch, and then says nothing: it may be cut off from the others. */
final class SilentWatchTest extends WithFakeMember {
  private static final long SILENCE_SECONDS = Silence.MIN.toSeconds() + 1;

  private final BlockingQueue<StreamObserver<WatchResponse>> streams = new LinkedBlockingQueue<>();

  @BeforeEach
  void begin() {
    member.watch = begun(streams);
  }

  private static BiConsumer<WatchRequest, StreamObserver<WatchResponse>> begun(
      BlockingQueue<StreamObserver<WatchResponse>> streams) {
    return (r, o) -> {
      o.onNext(WatchResponse.newBuilder().setStarted(WatchStarted.getDefaultInstance()).build());
      streams.add(o);
    };
  }

  private static WatchResponse progress() {
    return WatchResponse.newBuilder().setProgress(WatchProgress.getDefaultInstance()).setResumeToken("t").build();
  }

  private static WatchResponse put() {
    return WatchResponse.newBuilder().setEvents(WatchEvents.newBuilder().addEvents(Event.newBuilder()
        .setType(EventType.EVENT_TYPE_PUT).setKey("k").setKv(io.tenure.v1.KeyValue.newBuilder().setKey("k"))))
        .setResumeToken("t").build();
  }

  @Test
  void itIsLeft() throws Exception {
    try (FakeMember second = new FakeMember()) {
      BlockingQueue<StreamObserver<WatchResponse>> more = new LinkedBlockingQueue<>();
      second.watch = begun(more);
      FakeMember here = connectAmong(second).get(0);
      Watch watch = client.watch(WatchOptions.all());
      get(watch.beginAsync());
      silentFor(SILENCE_SECONDS);
      StreamObserver<WatchResponse> there = next(here == member ? more : streams);
      there.onNext(put());
      assertInstanceOf(WatchMessage.Events.class, watch.next().orElseThrow());
    }
  }

  @Test
  void oneThatSaysSomethingIsNotLeft() throws Exception {
    Watch watch = client.watch(WatchOptions.all());
    get(watch.beginAsync());
    StreamObserver<WatchResponse> stream = next(streams);
    for (int i = 0; i < 4; i++) {
      silentFor(SILENCE_SECONDS / 2);
      stream.onNext(progress());
      assertInstanceOf(WatchMessage.Progress.class, watch.next().orElseThrow());
    }
    assertEquals(0, streams.size());
  }

  /** A process that was stopped, or whose machine slept, has not read yet what its member said meanwhile. */
  @Test
  void oneIsNotLeftForTimeInWhichTheClientDidNotRun() throws Exception {
    Watch watch = client.watch(WatchOptions.all());
    get(watch.beginAsync());
    StreamObserver<WatchResponse> stream = next(streams);
    silentFor(SILENCE_SECONDS - 4);
    jumps(10 * SILENCE_SECONDS);
    silentFor(0); // It looks before it reads.
    stream.onNext(progress());
    assertInstanceOf(WatchMessage.Progress.class, watch.next().orElseThrow());
    assertEquals(0, streams.size());
    silentFor(SILENCE_SECONDS);
    next(streams);
  }

  @Test
  void oneThatMayNotSendMoreIsNotLeft() throws Exception {
    Watch watch = client.watch(WatchOptions.all());
    get(watch.beginAsync());
    StreamObserver<WatchResponse> stream = next(streams);
    for (int i = 0; i < WatchCore.AHEAD; i++) {
      stream.onNext(put());
    }
    until(() -> watch.core().isFull());
    silentFor(SILENCE_SECONDS);
    assertInstanceOf(WatchMessage.Events.class, watch.next().orElseThrow()); // From here on it may.
    silentFor(1);
    assertEquals(0, streams.size());
    silentFor(SILENCE_SECONDS);
    next(streams);
  }

  @Test
  void oneWithLongIntervalsHasTimeForThem() throws Exception {
    Watch watch = client.watch(WatchOptions.all().progressEvery(Duration.ofMinutes(1)));
    get(watch.beginAsync());
    next(streams);
    silentFor(SILENCE_SECONDS);
    assertEquals(0, streams.size());
    silentFor(Duration.ofMinutes(3).toSeconds());
    next(streams);
  }
}
