package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Errors;
import io.tenure.internal.line.FollowedCall;
import io.tenure.internal.line.Waits;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import io.tenure.v1.LineCredit;
import io.tenure.v1.LineDrain;
import io.tenure.v1.LineLimits;
import io.tenure.v1.LinePart;
import io.tenure.v1.LineRequest;
import io.tenure.v1.LineResponse;
import io.tenure.v1.LineServiceGrpc;
import io.tenure.v1.LineStatus;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchServiceGrpc;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waits and watches that share lines, at a member that serves these as a test says. */
@Timeout(240)
final class FollowedCallTest {
  private static final long ENDLESS = 1L << 40;

  /** Serves one line. */
  private interface Serving {
    void take(LineRequest message, StreamObserver<LineResponse> out);
  }

  private final AtomicInteger lines = new AtomicInteger();
  private final AtomicInteger lost = new AtomicInteger();
  /** Watches that were streams of their own. */
  private final AtomicInteger alone = new AtomicInteger();
  private FakeMember member;
  private Client client;
  private Connection connection;

  /** Opens each line as soon as a test lets it, if it is to be opened. */
  private final class Lines extends LineServiceGrpc.LineServiceImplBase {
    private final int waitsMax;
    private final CompletableFuture<Void> may;
    private final Supplier<Serving> serving;

    Lines(int waitsMax, CompletableFuture<Void> may, Supplier<Serving> serving) {
      this.waitsMax = waitsMax;
      this.may = may;
      this.serving = serving;
    }

    @Override
    public StreamObserver<LineRequest> line(StreamObserver<LineResponse> out) {
      lines.incrementAndGet();
      if (serving == null) {
        out.onError(Status.RESOURCE_EXHAUSTED.withDescription("no room").asRuntimeException());
        return new Served(null, out);
      }
      may.thenRun(() -> out.onNext(LineResponse.newBuilder().setLimits(
          LineLimits.newBuilder().setCallsMax(100).setRequestBytesMax(1 << 20).setWaitsMax(waitsMax)).build()));
      return new Served(serving.get(), out);
    }
  }

  private record Served(Serving serving, StreamObserver<LineResponse> out) implements StreamObserver<LineRequest> {
    @Override
    public void onNext(LineRequest message) {
      if (serving != null) {
        serving.take(message, out);
      }
    }

    @Override
    public void onError(Throwable t) {
      // It broke.
    }

    @Override
    public void onCompleted() {
      if (serving != null) {
        out.onCompleted();
      }
    }
  }

  /** Sends each watch as many messages as its credit allows, until it has as many as its request says. */
  private static final class Counting implements Serving {
    private final int size;
    private final BlockingQueue<List<Long>> cancels = new LinkedBlockingQueue<>();
    private final Map<Long, long[]> credit = new HashMap<>();
    private final Map<Long, Long> left = new HashMap<>();
    private final Map<Long, Integer> sent = new HashMap<>();

    Counting(int size) {
      this.size = size;
    }

    /** Returns how many messages a call was sent. */
    synchronized int sent(long number) {
      return sent.get(number);
    }

    @Override
    public synchronized void take(LineRequest message, StreamObserver<LineResponse> out) {
      for (LineCall c : message.getCallsList()) {
        credit.put(c.getNumber(), new long[] {c.getCreditMessages(), c.getCreditBytes()});
        left.put(c.getNumber(), c.getWatch().getAfterRevision());
        sent.put(c.getNumber(), 0);
      }
      for (LineCredit c : message.getCreditsList()) {
        credit.get(c.getNumber())[0] += c.getMessages();
        credit.get(c.getNumber())[1] += c.getBytes();
      }
      LineResponse.Builder response = LineResponse.newBuilder();
      if (message.getCancelsCount() > 0) {
        cancels.add(message.getCancelsList());
      }
      for (long number : message.getCancelsList()) {
        if (left.remove(number) != null) {
          response.addAnswers(failed(number, Status.Code.CANCELLED));
        }
      }
      for (long number : List.copyOf(left.keySet())) {
        send(number, response);
      }
      out.onNext(response.build());
    }

    private void send(long number, LineResponse.Builder response) {
      long[] have = credit.get(number);
      while (have[0] > 0 && have[1] > 0 && left.get(number) > 0) {
        sent.merge(number, 1, Integer::sum);
        LinePart one = part(number, String.valueOf(sent.get(number)), size);
        response.addParts(one);
        have[0]--;
        have[1] -= one.getWatch().getSerializedSize();
        left.merge(number, -1L, Long::sum);
      }
      if (left.get(number) == 0) {
        left.remove(number);
        response.addAnswers(LineAnswer.newBuilder().setNumber(number));
      }
    }
  }

  private static LinePart part(long number, String text, int size) {
    return LinePart.newBuilder().addNumbers(number).setWatch(WatchResponse.newBuilder().setResumeToken(text)
        .setHeader(ResponseHeader.newBuilder().setHistoryId("x".repeat(size)))).build();
  }

  private static LineAnswer failed(long number, Status.Code code) {
    return LineAnswer.newBuilder().setNumber(number).setStatus(LineStatus.newBuilder().setCode(code.value())).build();
  }

  /** One watch, and what it was told. */
  private class Reading extends ClientCall.Listener<WatchResponse> {
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private final CompletableFuture<Status> end = new CompletableFuture<>();
    private final CompletableFuture<Errors.Failure> failure = new CompletableFuture<>();
    private ClientCall<WatchRequest, WatchResponse> call;
    /** Null: it takes messages. */
    private volatile RuntimeException fault;

    Reading(long wanted, int ask) throws Exception {
      this(wanted, ask, "");
    }

    Reading(long wanted, int ask, String token) throws Exception {
      onLoop(() -> {
        call = connection.stream(WatchServiceGrpc.getWatchMethod());
        call.start(this, new Metadata());
        call.request(ask);
        call.sendMessage(WatchRequest.newBuilder().setAfterRevision(wanted).setResumeToken(token).build());
        call.halfClose();
      });
    }

    @Override
    public void onMessage(WatchResponse m) {
      if (fault != null) {
        throw fault;
      }
      messages.add(m.getResumeToken());
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      failure.complete(Errors.read(status.asRuntimeException(trailers)));
      end.complete(status);
    }

    String next() throws InterruptedException {
      return messages.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
    }

    void ask(int more) throws Exception {
      onLoop(() -> call.request(more));
    }

    void cancel() throws Exception {
      onLoop(() -> call.cancel("left", null));
    }

    Status.Code end() throws Exception {
      return WithFakeMember.get(end).getCode();
    }
  }

  private void onLoop(Runnable task) throws Exception {
    WithFakeMember.get(client.core().onLoop(() -> {
      task.run();
      return CompletableFuture.completedFuture(null);
    }));
  }

  /** Starts a member whose lines carry so many waits and watches. */
  private void start(int waitsMax, Supplier<Serving> serving) throws Exception {
    start(new Lines(waitsMax, CompletableFuture.completedFuture(null), serving));
  }

  private void start(Lines... services) throws Exception {
    member = new FakeMember(InsecureServerCredentials.create(), services);
    member.watch = (r, o) -> {
      alone.incrementAndGet();
      FakeMember.reply(o, WatchResponse.newBuilder().setResumeToken("alone").build());
    };
    client = WithFakeMember.client(member.uri(), System::nanoTime);
    connect();
  }

  private void connect() throws Exception {
    onLoop(() -> connection = new Connection(
        "127.0.0.1:" + member.port(), 1, client.core().link.door(), client.core().loop, c -> lost.incrementAndGet(), c -> { }));
  }

  /** Has another client connect. */
  private void connect(ClientBuilder other) throws Exception {
    onLoop(connection::close);
    client.close();
    client = other.connect();
    connect();
  }

  @AfterEach
  void stop() throws Exception {
    onLoop(connection::close);
    client.close();
    member.close();
  }

  private int channels() throws Exception {
    AtomicInteger n = new AtomicInteger();
    onLoop(() -> n.set(connection.waitChannels()));
    return n.get();
  }

  @Test
  void manyWatchesShareLines() throws Exception {
    start(100, () -> new Counting(0));
    List<Reading> all = new ArrayList<>();
    for (int i = 0; i < 250; i++) { // More than two lines carry.
      all.add(new Reading(40, 100));
    }
    for (Reading r : all) {
      assertEquals(Status.Code.OK, r.end());
      for (int i = 1; i <= 40; i++) {
        assertEquals(String.valueOf(i), r.next());
      }
    }
    assertTrue(lines.get() <= 3);
    assertEquals(0, alone.get());
    assertEquals(1, channels());
  }

  @Test
  void aWatchThatIsNotReadIsNotSentMoreAndStopsNoOther() throws Exception {
    notSentMore(0, FollowedCall.AHEAD_MESSAGES);
  }

  @Test
  void aWatchOfLargeMessagesIsNotSentMoreEither() throws Exception {
    notSentMore(40_000, 2);
  }

  private void notSentMore(int size, int ahead) throws Exception {
    Counting serving = new Counting(size);
    start(10, () -> serving);
    Reading still = new Reading(ENDLESS, 1); // What it had without credit fills all memory.
    assertEquals("1", still.next());
    assertEquals(Status.Code.OK, new Reading(100, 1000).end());
    assertTrue(serving.sent(1) <= ahead + 1);
    still.ask(1);
    assertEquals("2", still.next());
    assertNull(still.messages.poll());
    still.cancel();
    assertEquals(List.of(1L), serving.cancels.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS));
    assertEquals(Status.Code.CANCELLED, still.end());
    assertEquals(1, lines.get());
    assertEquals(0, alone.get());
  }

  @Test
  void whatCameIsReadBeforeTheEnd() throws Exception {
    start(10, () -> new Counting(0));
    Reading r = new Reading(2, 0);
    assertEquals(Status.Code.OK, new Reading(1, 1).end());
    assertFalse(r.end.isDone());
    r.ask(1);
    assertEquals("1", r.next());
    assertFalse(r.end.isDone());
    r.ask(1);
    assertEquals("2", r.next());
    assertEquals(Status.Code.OK, r.end());
  }

  @Test
  void aWatchThatIsLeftBeforeItsLineIsOpenIsNotBegun() throws Exception {
    CompletableFuture<Void> may = new CompletableFuture<>();
    Counting serving = new Counting(0);
    start(new Lines(10, may, () -> serving));
    Reading left = new Reading(ENDLESS, 1);
    left.cancel();
    assertEquals(Status.Code.CANCELLED, left.end());
    may.complete(null);
    assertEquals(Status.Code.OK, new Reading(1, 1).end());
    assertEquals(1, serving.sent(1));
    assertEquals(1, serving.sent.size());
    assertEquals(1, lines.get());
    assertEquals(0, alone.get());
  }

  @Test
  void manyThatLeaveTogetherSayItInMessagesThatMembersTake() throws Exception {
    Counting serving = new Counting(0);
    start(6000, () -> serving);
    List<Reading> all = new ArrayList<>();
    for (int i = 0; i < 5000; i++) {
      all.add(new Reading(ENDLESS, 1));
    }
    for (Reading r : all) {
      assertEquals("1", r.next());
    }
    onLoop(() -> all.forEach(r -> r.call.cancel("left", null)));
    int said = 0;
    while (said < 5000) {
      List<Long> some = serving.cancels.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS);
      assertTrue(some.size() <= 4096);
      said += some.size();
    }
    assertEquals(1, lines.get());
  }

  @Test
  void atAMemberWithoutLinesWatchesAreStreams() throws Exception {
    start();
    areStreams(0);
  }

  @Test
  void atAMemberWithoutWaitsOnLinesWatchesAreStreams() throws Exception {
    start(0, () -> new Counting(0));
    areStreams(1);
  }

  @Test
  void atAMemberWithoutRoomForALineWatchesAreStreams() throws Exception {
    start(10, null);
    areStreams(1);
  }

  private void areStreams(int asked) throws Exception {
    for (int i = 0; i < 3; i++) {
      Reading r = new Reading(1, 2);
      assertEquals("alone", r.next());
      assertEquals(Status.Code.OK, r.end());
    }
    assertEquals(asked, lines.get());
    assertEquals(3, alone.get());
  }

  @Test
  void theRequestOfAWatchCountsUntilItsEnd() throws Exception {
    start(100, () -> new Counting(0));
    for (int i = 0; i < 18; i++) { // A line takes 1 MiB of them, which is 17.
      assertEquals("1", new Reading(ENDLESS, 1, "x".repeat(60_000)).next());
    }
    assertEquals(2, lines.get());
    assertEquals(0, alone.get());
  }

  @Test
  void whatAllLinesOfAConnectionDoNotCarryHasAnother() throws Exception {
    start(2, () -> new Counting(0));
    for (int i = 0; i < 2 * Waits.LINES_MAX + 1; i++) {
      assertEquals("1", new Reading(ENDLESS, 1).next());
    }
    assertEquals(Waits.LINES_MAX + 1, lines.get());
    assertEquals(0, alone.get());
    assertEquals(2, channels());
  }

  /** Has a line carry three watches that are sent a message, and then end as it says; each is told that message before its end. */
  private void endsAfterWhatCame(Status.Code code, int losses, Serving how) throws Exception {
    List<Long> begun = new ArrayList<>();
    start(10, () -> (message, out) -> {
      message.getCallsList().forEach(c -> begun.add(c.getNumber()));
      if (begun.size() == 3) {
        LineResponse.Builder came = LineResponse.newBuilder();
        begun.forEach(n -> came.addParts(part(n, "came", 0)));
        out.onNext(came.build());
        how.take(message, out);
      }
    });
    List<Reading> all = List.of(new Reading(1, 2), new Reading(1, 2), new Reading(1, 2));
    for (Reading r : all) {
      assertEquals("came", r.next());
      assertEquals(code, r.end());
    }
    assertEquals(0, alone.get(), "it was made a second time");
    assertEquals(losses, lost.get());
  }

  @Test
  void aLineThatBreaksEndsItsWatchesAndIsToldOnce() throws Exception {
    endsAfterWhatCame(Status.Code.UNAVAILABLE, 1,
        (message, out) -> out.onError(Status.UNAVAILABLE.withDescription("broke").asRuntimeException()));
  }

  @Test
  void aLineThatEndsEndsItsWatches() throws Exception {
    endsAfterWhatCame(Status.Code.UNAVAILABLE, 0, (message, out) -> out.onCompleted());
  }

  @Test
  void aLineThatTellsOfWhatIsNotUnderWayEnds() throws Exception {
    endsAfterWhatCame(Status.Code.CANCELLED, 0,
        (message, out) -> out.onNext(LineResponse.newBuilder().addParts(part(9, "", 0)).build()));
  }

  @Test
  void aMemberThatStopsEndsWhatItHasNotStarted() throws Exception {
    endsAfterWhatCame(Status.Code.UNAVAILABLE, 0, (message, out) -> out.onNext(LineResponse.newBuilder().setDrain(
        LineDrain.newBuilder().setStatus(LineStatus.newBuilder().setCode(Status.Code.UNAVAILABLE.value()))).build()));
  }

  @Test
  void aWatchIsRefused() throws Exception {
    endsAfterWhatCame(Status.Code.INVALID_ARGUMENT, 0, (message, out) -> {
      LineResponse.Builder all = LineResponse.newBuilder();
      for (long n = 1; n <= 3; n++) {
        all.addAnswers(failed(n, Status.Code.INVALID_ARGUMENT));
      }
      out.onNext(all.build());
    });
  }

  @Test
  void aWatchWhoseTokenIsRefusedIsMadeAgainWithTheNext() throws Exception {
    BlockingQueue<String> used = new LinkedBlockingQueue<>();
    start(10, () -> (message, out) -> {
      message.getCredentialsList().forEach(c -> used.add(c.getToken()));
      for (LineCall c : message.getCallsList()) {
        LineResponse.Builder r = LineResponse.newBuilder();
        out.onNext((used.size() == 1 ? r.addAnswers(failed(c.getNumber(), Status.Code.UNAUTHENTICATED))
            : r.addParts(LinePart.newBuilder().addNumbers(c.getNumber()).setWatch(
                WatchResponse.newBuilder().setStarted(io.tenure.v1.WatchStarted.getDefaultInstance())))).build());
      }
    });
    AtomicInteger asked = new AtomicInteger();
    try (Client mine = Client.builder(member.uri()).token(() -> "token" + asked.incrementAndGet()).connect();
        Watch watch = mine.watch(WatchOptions.all())) {
      WithFakeMember.get(watch.beginAsync());
    }
    assertEquals(List.of("token1", "token2"), new ArrayList<>(used));
    assertEquals(0, alone.get());
  }

  private static boolean isCause(Throwable wanted, Throwable of) {
    return of != null && (of == wanted || isCause(wanted, of.getCause()));
  }

  /** Has a connection for waits and watches not be made for a while. */
  private void isNotLost(ClientBuilder other) throws Exception {
    AtomicReference<RuntimeException> fault = new AtomicReference<>();
    connect(other.channel(b -> {
      if (fault.get() != null) {
        throw fault.get();
      }
    }));
    RuntimeException why = new IllegalStateException("the file cannot be read");
    fault.set(why);
    for (int i = 0; i < 2; i++) {
      Reading r = new Reading(1, 1);
      assertEquals(Status.Code.UNAVAILABLE, r.end());
      assertTrue(isCause(why, r.end.get().getCause()));
      Errors.Failure f = WithFakeMember.get(r.failure);
      assertTrue(f.retry() && f.error().applied() == Applied.NO);
    }
    fault.set(null);
    assertEquals(Status.Code.OK, new Reading(1, 1).end());
  }

  @Test
  void aWatchWhoseLineHasNoConnectionFails() throws Exception {
    start(10, () -> new Counting(0));
    isNotLost(Client.builder(member.uri()));
    assertEquals(1, lines.get());
  }

  @Test
  void aWatchWhoseStreamHasNoConnectionFails() throws Exception {
    start();
    isNotLost(Client.builder(member.uri()).interceptors(new ClientInterceptor() {
      @Override
      public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        return next.newCall(method, options);
      }
    }));
    assertEquals(1, alone.get());
  }

  /** Has a reader fail at the first message, and returns it. */
  private Reading failing() throws Exception {
    Reading r = new Reading(ENDLESS, 0);
    r.fault = new IllegalStateException("a fault");
    r.ask(2);
    assertEquals(Status.Code.UNKNOWN, r.end());
    assertTrue(isCause(r.fault, r.end.get().getCause()));
    Errors.Failure f = WithFakeMember.get(r.failure);
    assertFalse(f.retry(), "it would fail again");
    assertEquals(ErrorKind.INTERNAL, f.error().kind());
    assertNull(r.messages.poll());
    return r;
  }

  @Test
  void aReaderThatFailsIsToldWhy() throws Exception {
    Counting serving = new Counting(0);
    start(10, () -> serving);
    failing();
    assertEquals(List.of(1L), serving.cancels.poll(FakeMember.SOON_SECONDS, TimeUnit.SECONDS));
  }

  @Test
  void aReaderOfAStreamThatFailsIsToldWhy() throws Exception {
    start();
    failing();
    assertEquals(1, alone.get());
  }

  @Test
  void anEventForManyWatchesHoldsUpNothingElse() throws Exception {
    List<Long> begun = new ArrayList<>();
    start(1000, () -> (message, out) -> {
      message.getCallsList().forEach(c -> begun.add(c.getNumber()));
      if (begun.size() == 1000) {
        LinePart.Builder one = part(begun.get(0), "came", 0).toBuilder();
        begun.subList(1, 1000).forEach(one::addNumbers);
        out.onNext(LineResponse.newBuilder().addParts(one).build());
      }
    });
    AtomicInteger told = new AtomicInteger();
    CompletableFuture<Integer> before = new CompletableFuture<>();
    List<Reading> all = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      all.add(new Reading(ENDLESS, 1) {
        @Override
        public void onMessage(WatchResponse m) {
          if (told.incrementAndGet() == 1) {
            client.core().loop.execute(() -> before.complete(told.get()));
          }
          super.onMessage(m);
        }
      });
    }
    for (Reading r : all) {
      assertEquals("came", r.next());
    }
    assertTrue(WithFakeMember.get(before) < 1000, "what came meanwhile had to wait until all were told");
    assertEquals(1, lines.get());
  }

  @Test
  void afterALineHadNoRoomAnotherIsTaken() throws Exception {
    start(100, () -> {
      AtomicInteger taken = new AtomicInteger();
      return (message, out) -> {
        for (LineCall c : message.getCallsList()) {
          LineResponse.Builder r = LineResponse.newBuilder();
          out.onNext((taken.getAndIncrement() == 0 ? r.addParts(part(c.getNumber(), "taken", 0))
              : r.addAnswers(LineAnswer.newBuilder().setNumber(c.getNumber()).setStatus(CallLineTest.noRoom("line_waits_max")))).build());
        }
      };
    });
    assertEquals("taken", new Reading(1, 1).next());
    Reading refused = new Reading(1, 1);
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused.end());
    assertTrue(WithFakeMember.get(refused.failure).retry());
    assertEquals("taken", new Reading(1, 1).next());
    assertEquals(2, lines.get());
    assertEquals(0, alone.get());
  }
}
