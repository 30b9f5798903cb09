package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.BootClock;
import io.tenure.internal.Callbacks;
import io.tenure.internal.line.Connection;
import io.tenure.internal.line.Security;
import io.tenure.internal.line.Token;
import io.tenure.internal.session.ClientCore;
import io.tenure.v1.KVServiceGrpc;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.WatchRequest;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a client is told about security, and the token that its calls carry. */
@Timeout(600)
final class TokenTest {
  private static final Duration LONG = Duration.ofMinutes(5);

  /** Returns whether connections would be with TLS. */
  private static boolean decided(Security given, String uri, String environment) {
    Map<String, String> variables = new HashMap<>();
    for (String pair : environment == null ? new String[0] : environment.split(" ")) {
      variables.put("TENURE_" + pair.split("=")[0], pair.split("=")[1]);
    }
    ConnectionString at = ConnectionString.parse(uri);
    return given.or(Security.of(at.security())).or(Security.of(variables, given.credentials() == null)).decide(at);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "tenure://h1?server_name=h2||a server name (server_name, TENURE_SERVER_NAME) is given",
      "tenure://h1|SERVER_NAME=h2|use tenures://",
      "tenure://h1|CA_FILE=x|a CA (ca_file, TENURE_CA_FILE) is given",
      "tenure://h1?cert_file=x&key_file=y||a certificate (cert_file, TENURE_CERT_FILE) is given",
      "h1?cert_file=x||go together",
      "h1|KEY_FILE=x|go together",
      "tenures://h1?token=s3cret||token= is refused",
      "http://h1?%74oken=s3cret||token= is refused",
      "localhost,h1|TOKEN=t|not sent to h1:7400 without TLS",
      "tenure://127.0.0.1.example.com?insecure=false|TOKEN=t|without TLS",
      "tenures://h1?insecure=true||nothing skips verification",
      "localhost|TOKEN=t TOKEN_FILE=x|more than one token"
  })
  void whatDoesNotGoTogether(String uri, String environment, String why) {
    TenureException e = assertThrows(TenureException.class, () -> decided(Security.NONE, uri, environment));
    assertEquals(ErrorKind.INVALID_ARGUMENT, e.kind());
    assertTrue(e.getMessage().contains(why), e.getMessage());
    assertFalse(e.getMessage().contains("s3cret"), e.getMessage());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "tenures://h1||true",
      "h1?server_name=h2||true",
      "h1|SERVER_NAME=h2|true",
      "localhost,127.0.0.1,[::1]|TOKEN=t|false",
      "tenures://h1|TOKEN=t|true",
      "tenure://h1?insecure=true|TOKEN=t|false",
      "localhost?token_file=x|TOKEN=t|false"
  })
  void whatGoesTogether(String uri, String environment, boolean tls) {
    assertEquals(tls, decided(Security.NONE, uri, environment));
  }

  @Test
  void credentialsOfTheProgramsOwn() {
    Security own = new Security(Map.of(), "", null, TlsChannelCredentials.create(), List.of(), b -> { });
    assertTrue(decided(own, "h1", "CA_FILE=x"));
    assertThrows(TenureException.class, () -> decided(own, "tenure://h1", null));
    assertThrows(TenureException.class, () -> decided(own, "h1?ca_file=x", null));
  }

  @Test
  void aTokenThatCannotBeUsed() {
    for (ClientBuilder builder : new ClientBuilder[] {
        Client.builder("localhost").token("a\nb"), Client.builder("localhost?token_file=/there/is/none")}) {
      assertEquals(ErrorKind.AUTH_FAILED, assertThrows(TenureException.class, builder::connect).kind());
    }
  }

  @Test
  void aTokenIsSentWithEachCall(@TempDir Path dir) throws Exception {
    Path file = Files.writeString(dir.resolve("token"), "from-file\n");
    try (FakeMember m = new FakeMember()) {
      Map<String, ClientBuilder> given = Map.of("text", Client.builder(m.uri()).token("text"),
          "from-file", Client.builder(m.uri()).tokenFile(file),
          "from-function", Client.builder(m.uri()).token(() -> "from-function"));
      for (Map.Entry<String, ClientBuilder> g : given.entrySet()) {
        try (Client client = g.getValue().callTimeout(LONG).connect()) {
          m.authorization = "Bearer another";
          TenureException e = assertThrows(TenureException.class, () -> client.kv().put("k", "v"));
          assertEquals(ErrorKind.AUTH_FAILED, e.kind(), e.getMessage());
          m.authorization = "Bearer " + g.getKey();
          client.kv().put("k", "v");
        }
      }
    }
  }

  @Test
  void aTokenFileIsReplaced(@TempDir Path dir) throws Exception {
    Path file = Files.writeString(dir.resolve("token"), "first");
    try (FakeMember m = new FakeMember(); Client client = Client.builder(m.uri()).tokenFile(file).callTimeout(LONG).connect()) {
      m.authorization = "Bearer first";
      client.kv().put("k", "v");
      Files.move(Files.writeString(dir.resolve("new"), "second\n"), file, StandardCopyOption.ATOMIC_MOVE);
      m.authorization = "Bearer second";
      client.kv().put("k", "v");
    }
  }

  @Test
  void thereIsNoToken() throws Exception {
    try (FakeMember m = new FakeMember(); Client client = Client.builder(m.uri()).callTimeout(LONG).token(() -> {
      throw new IllegalStateException("out of tokens");
    }).connect()) {
      TenureException e = assertThrows(TenureException.class, () -> client.kv().put("k", "v"));
      assertEquals(ErrorKind.AUTH_FAILED, e.kind());
      assertEquals(Applied.NO, e.applied());
      assertTrue(e.getMessage().contains("out of tokens"), e.getMessage());
    }
  }

  @Test
  void aFunctionThatThrowsAnErrorEndsWhatWaitsForItsToken() throws Exception {
    AssertionError thrown = new AssertionError("out of order");
    try (FakeMember m = new FakeMember(); Client client = Client.builder(m.uri()).callTimeout(LONG).token(() -> {
      throw thrown;
    }).connect(); Watch watch = client.watch(WatchOptions.key("k"))) {
      for (CompletableFuture<?> f : List.of(client.kv().putAsync("k", "v"), watch.beginAsync())) {
        TenureException e = WithFakeMember.failure(f);
        assertEquals(ErrorKind.AUTH_FAILED, e.kind());
        assertTrue(e.getMessage().contains("out of order"), e.getMessage());
      }
    }
  }

  @Test
  void aTokenIsKeptThoughItsFunctionThrowsAnError() throws Exception {
    AtomicLong clock = new AtomicLong(1);
    AtomicReference<Error> thrown = new AtomicReference<>();
    Token token = new Token(() -> {
      if (thrown.get() != null) {
        throw thrown.get();
      }
      return "a";
    }, clock::get, Runnable::run, NEVER, Runnable::run);
    assertEquals("a", got(token));
    thrown.set(new NoClassDefFoundError("x"));
    clock.addAndGet(Token.AGE_NANOS);
    assertEquals("a", got(token));
  }

  /** Runs nothing. */
  private static final Token.Later NEVER = (nanos, task) -> new CompletableFuture<>();

  /** Returns the token, which is there at once. */
  private static String got(Token token) {
    AtomicReference<String> got = new AtomicReference<>();
    token.get(Runnable::run, got::set, why -> {
      throw why;
    });
    return got.get();
  }

  @Test
  void callbacksThatWaitKeepNoTokenFromCalls() throws Exception {
    CountDownLatch release = new CountDownLatch(1);
    try (FakeMember m = new FakeMember();
        Client client = Client.builder(m.uri()).token(() -> "from-function").callTimeout(LONG).connect()) {
      for (int n = 0; n < Callbacks.THREADS_MAX; n++) {
        client.core().loop.onPool(() -> {
          try {
            release.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        });
      }
      CompletableFuture<Void> called = CompletableFuture.runAsync(() -> client.kv().put("k", "v"));
      WithFakeMember.get(called);
    } finally {
      release.countDown();
    }
  }

  @Test
  void aTokenThatIsRefusedIsReadAgain() throws Exception {
    AtomicReference<String> issued = new AtomicReference<>("first");
    LinkedBlockingQueue<SessionState> states = new LinkedBlockingQueue<>();
    try (FakeMember m = new FakeMember();
        Client client = Client.builder(m.uri()).token(issued::get).callTimeout(LONG).connect()) {
      m.ttl = Duration.ofMinutes(10);
      m.authorization = "Bearer first";
      Session session = client.openSession(SessionOptions.defaults(), LONG, change -> states.add(change.to()));
      m.authorization = "Bearer second";
      issued.set("second");
      session.kv().put("k", "v");
      m.authorization = "Bearer third";
      issued.set("third");
      try (Watch watch = client.watch(WatchOptions.key("k"))) {
        watch.beginAsync();
        m.next(WatchRequest.class);
      }
      await(states, SessionState.CONNECTED);
      m.authorization = "Bearer fourth"; // Nobody has it yet: the session cannot be renewed.
      m.breakOff();
      await(states, SessionState.SUSPENDED);
      issued.set("fourth");
      await(states, SessionState.CONNECTED);
    }
  }

  private static void await(LinkedBlockingQueue<SessionState> states, SessionState wanted) throws InterruptedException {
    SessionState state;
    do {
      state = states.poll(LONG.toSeconds(), TimeUnit.SECONDS);
      assertTrue(state != null, "waited for " + wanted);
    } while (state != wanted);
  }

  @Test
  void anInterceptorSeesCalls() throws Exception {
    Set<String> methods = ConcurrentHashMap.newKeySet();
    ClientInterceptor recorder = new ClientInterceptor() {
      @Override
      public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        methods.add(method.getBareMethodName());
        return next.newCall(method, options);
      }
    };
    AtomicInteger channels = new AtomicInteger();
    try (FakeMember m = new FakeMember(); Client client = Client.builder(m.uri()).callTimeout(LONG)
        .interceptors(recorder).channel(b -> channels.incrementAndGet()).connect()) {
      client.kv().put("k", "v");
      assertTrue(methods.contains("Put"), methods::toString);
      assertTrue(channels.get() > 0);
    }
  }

  /** Returns an address of this machine that other machines can reach, too. */
  private static String reachable() throws Exception {
    return NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
        .filter(a -> a instanceof Inet4Address && !a.isLoopbackAddress()).map(InetAddress::getHostAddress).findFirst().orElse(null);
  }

  @ParameterizedTest
  @CsvSource({"header,false", "header,true", "credentials,false", "credentials,true"})
  void aTokenOfAnInterceptorIsNotSentInClear(String form, boolean told) throws Exception {
    String host = reachable();
    assumeTrue(host != null, "this machine has loopback addresses only");
    Metadata shown = new Metadata();
    shown.put(Token.HEADER, "Bearer theirs");
    CallCredentials credentials = new CallCredentials() {
      @Override
      public void applyRequestMetadata(RequestInfo call, Executor on, MetadataApplier applier) {
        applier.apply(shown);
      }
    };
    ClientInterceptor showing = new ClientInterceptor() {
      @Override
      public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        if (!method.getBareMethodName().equals("Put")) {
          return next.newCall(method, options);
        }
        return form.equals("header") ? MetadataUtils.newAttachHeadersInterceptor(shown).interceptCall(method, options, next)
            : next.newCall(method, options.withCallCredentials(credentials));
      }
    };
    try (FakeMember m = new FakeMember(); Client client = Client.builder("tenure://" + host + ":" + m.port()).callTimeout(LONG)
        .interceptors(showing).insecure(told).connect()) {
      AtomicInteger puts = new AtomicInteger();
      BiConsumer<PutRequest, StreamObserver<PutResponse>> put = m.put;
      m.put = (r, o) -> {
        puts.incrementAndGet();
        put.accept(r, o);
      };
      if (told) {
        client.kv().put("k", "v");
        return;
      }
      TenureException refused = assertThrows(TenureException.class, () -> client.kv().put("k", "v"));
      assertEquals(form.equals("header") ? ErrorKind.INVALID_ARGUMENT : ErrorKind.AUTH_FAILED, refused.kind(), refused::toString);
      assertEquals(form.equals("header") ? "AUTH_UNSAFE" : "", refused.reason());
      assertTrue(refused.getMessage().contains("without TLS: use tenures://, or insecure=true"), refused::getMessage);
      assertEquals(0, puts.get());
    }
  }

  @Test
  void aCallWhoseTokenIsRefusedEndsOnTheLoop() throws Exception {
    try (FakeMember m = new FakeMember();
        Client client = Client.builder(m.uri()).token(() -> "refused").callTimeout(LONG).connect()) {
      m.authorization = "Bearer another";
      ClientCore core = client.core();
      CompletableFuture<Thread> loop = new CompletableFuture<>();
      CompletableFuture<Thread> told = new CompletableFuture<>();
      core.loop.execute(() -> {
        loop.complete(Thread.currentThread());
        Connection c = new Connection("127.0.0.1:" + m.port(), 1, core.link.door(), core.loop, lost -> { }, silent -> { });
        ClientCall<PutRequest, PutResponse> call = c.call(KVServiceGrpc.getPutMethod(), CallOptions.DEFAULT);
        call.start(new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            told.complete(Thread.currentThread());
            c.close();
          }
        }, new Metadata());
        call.sendMessage(PutRequest.getDefaultInstance());
        call.halfClose();
        call.request(1);
      });
      assertEquals(WithFakeMember.get(loop), WithFakeMember.get(told));
    }
  }

  @Test
  void aTokenIsReadAgainWhenItIsOld() {
    AtomicLong clock = new AtomicLong(1);
    AtomicReference<String> text = new AtomicReference<>("a");
    AtomicInteger asked = new AtomicInteger();
    Token token = new Token(() -> {
      asked.incrementAndGet();
      return text.get();
    }, clock::get, Runnable::run, NEVER, Runnable::run);
    assertEquals("a", got(token) + (asked.get() == 1 ? "" : asked));
    text.set("b\n");
    clock.addAndGet(Token.AGE_NANOS - 1);
    assertEquals("a", got(token) + (asked.get() == 1 ? "" : asked));
    clock.addAndGet(1);
    assertEquals("b", got(token) + (asked.get() == 2 ? "" : asked));
    text.set(""); // What there was may be good still.
    clock.addAndGet(Token.AGE_NANOS);
    assertEquals("b", got(token) + (asked.get() == 3 ? "" : asked));
  }

  @Test
  void callsShareOneQuestionAndUseThePreviousToken() {
    AtomicLong clock = new AtomicLong(1);
    AtomicReference<String> text = new AtomicReference<>("a");
    Deque<Runnable> asked = new ArrayDeque<>(); // While they are here, the source hangs.
    List<Runnable> timers = new ArrayList<>();
    Token token = new Token(text::get, clock::get, asked::add, (nanos, task) -> {
      timers.add(task);
      return new CompletableFuture<>();
    }, Runnable::run);
    List<String> told = new ArrayList<>();
    Runnable wants = () -> token.get(Runnable::run, told::add, why -> told.add(why.getStatus().getCode().name()));
    wants.run();
    asked.remove().run();
    assertEquals(List.of("a"), told);
    clock.addAndGet(Token.AGE_NANOS);
    for (int n = 0; n < 100; n++) {
      wants.run();
    }
    assertEquals("1 100 1", told.size() + " " + token.waiting() + " " + asked.size());
    clock.addAndGet(Token.OVERDUE_NANOS);
    List.copyOf(timers).forEach(Runnable::run);
    wants.run(); // It has hung for long by now.
    assertEquals(Collections.nCopies(102, "a"), told);
    assertEquals("0 1", token.waiting() + " " + asked.size());
    text.set(""); // It fails in the end.
    asked.remove().run();
    wants.run();
    clock.addAndGet(Token.FAILED_NANOS - 1);
    wants.run();
    assertTrue(asked.isEmpty());
    clock.addAndGet(1);
    wants.run();
    assertEquals("105 0 1", told.size() + " " + token.waiting() + " " + asked.size()); // On the side.
    text.set("b");
    asked.remove().run();
    wants.run();
    assertEquals("b", told.get(105));
    assertTrue(asked.isEmpty());
  }

  @Test
  void aCallWhoseTokenIsRefusedWaitsForTheAnswerUntilItEnds() {
    AtomicLong clock = new AtomicLong(1);
    AtomicReference<String> text = new AtomicReference<>("a");
    Deque<Runnable> asked = new ArrayDeque<>();
    List<Runnable> timers = new ArrayList<>();
    List<Long> patience = new ArrayList<>();
    Token token = new Token(text::get, clock::get, asked::add, (nanos, task) -> {
      patience.add(nanos);
      timers.add(task);
      return new CompletableFuture<>();
    }, Runnable::run);
    token.read();
    List<Status.Code> told = new ArrayList<>();
    Runnable refused = () -> token.refused(
        "a", Status.UNAUTHENTICATED.asRuntimeException(), 20, Runnable::run, why -> told.add(why.getStatus().getCode()));
    refused.run();
    clock.addAndGet(5);
    refused.run(); // It waits for the same answer first.
    assertEquals(List.of(20L, 20L), patience);
    clock.addAndGet(20);
    List.copyOf(timers).forEach(Runnable::run);
    assertEquals(List.of(Status.Code.UNAVAILABLE, Status.Code.UNAVAILABLE), told, "the source has not answered, and may");
    assertEquals("0 1", token.waiting() + " " + asked.size());
    refused.run();
    asked.remove().run(); // It was asked after a refusal: this call need not ask again.
    assertEquals(Status.Code.UNAUTHENTICATED, told.get(2), "it is the same token");
    assertTrue(asked.isEmpty());
    clock.addAndGet(Token.AGE_NANOS);
    token.get(Runnable::run, got -> { }, why -> { });
    refused.run();
    asked.remove().run(); // It may have answered before the member did.
    assertEquals("3 1 1", told.size() + " " + token.waiting() + " " + asked.size());
    text.set("");
    asked.remove().run();
    assertEquals(Status.Code.UNAUTHENTICATED, told.get(3), "there is none");
    refused.run();
    text.set("b");
    asked.remove().run();
    refused.run();
    assertEquals(List.of(Status.Code.UNAVAILABLE, Status.Code.UNAVAILABLE), told.subList(4, 6));
    assertTrue(asked.isEmpty());
  }

  @Test
  void aWaiterWhoseExecutorIsGoneTakesNoTokenFromTheOthers() {
    Deque<Runnable> asked = new ArrayDeque<>();
    Token token = new Token(() -> "a", () -> 1, asked::add, NEVER, Runnable::run);
    List<String> told = new ArrayList<>();
    token.get(task -> {
      throw new RejectedExecutionException("gone");
    }, told::add, why -> { });
    token.get(Runnable::run, told::add, why -> { });
    asked.remove().run();
    assertEquals(List.of("a"), told);
  }

  /** A function for the token that hangs when it is told to, and the client's clock. */
  private static final class Hanging implements AutoCloseable {
    private final AtomicLong ahead = new AtomicLong();
    private final AtomicInteger asked = new AtomicInteger();
    private final CountDownLatch release = new CountDownLatch(1);
    private volatile boolean hangs;

    String token() {
      asked.incrementAndGet();
      if (hangs) {
        try {
          release.await();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
      return "from-function";
    }

    Client client(FakeMember m, Duration callTimeout, Duration attemptTimeout) {
      return new Client(ConnectionString.parse(m.uri()), callTimeout, new BootClock(() -> System.nanoTime() + ahead.get(), () -> 0),
          attemptTimeout, new Security(Map.of(), "", this::token, null, List.of(), b -> { }));
    }

    @Override
    public void close() {
      release.countDown();
    }
  }

  @Test
  void aFunctionThatHangsDoesNotHoldUpCalls() throws Exception {
    try (FakeMember m = new FakeMember(); Hanging function = new Hanging(); Client client = function.client(m, Duration.ofSeconds(30), Duration.ofHours(1))) {
      client.kv().put("k", "v");
      function.hangs = true;
      function.ahead.addAndGet(Token.AGE_NANOS);
      for (CompletableFuture<?> f : Stream.generate(() -> client.kv().putAsync("k", "v")).limit(100).toList()) {
        WithFakeMember.get(f);
      }
      try (Watch watch = client.watch(WatchOptions.key("k"))) {
        watch.beginAsync();
        m.next(WatchRequest.class);
      }
      assertEquals(2, function.asked.get());
    }
  }

  @Test
  void callsThatEndWhileTheyWaitForTheFirstTokenLeaveNothing() throws Exception {
    try (FakeMember m = new FakeMember(); Hanging function = new Hanging(); Client client = function.client(m, Duration.ofMillis(300), Duration.ofMillis(300))) {
      function.hangs = true;
      Watch watch = client.watch(WatchOptions.key("k"));
      watch.beginAsync();
      WithFakeMember.until(client, () -> function.asked.get() > 0); // Before a member is connected, nothing waits for a token.
      for (CompletableFuture<?> f : Stream.generate(() -> client.kv().putAsync("k", "v")).limit(100).toList()) {
        TenureException e = WithFakeMember.failure(f);
        assertTrue(e.kind() != ErrorKind.AUTH_FAILED, e.toString());
      }
      watch.close();
      long began = System.nanoTime();
      WithFakeMember.until(client, () -> client.core().link.door().waiting() <= 1); // What the client asks for itself waits on.
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      assertTrue(took.compareTo(Duration.ofSeconds(15)) < 0, took::toString); // The token's own patience is 30.
      assertEquals(1, function.asked.get());
    }
  }

  /** What a client asks for itself waits for the token too, with which its connection cannot end. */
  @Test
  void aClientWhoseTokenNeverComesClosesAtOnce() throws Exception {
    try (FakeMember m = new FakeMember(); Hanging function = new Hanging()) {
      function.hangs = true;
      Client client = function.client(m, Duration.ofSeconds(30), Duration.ofHours(1));
      CompletableFuture<?> put = client.kv().putAsync("k", "v");
      WithFakeMember.until(client, () -> client.core().link.door().waiting() > 1);
      long began = System.nanoTime();
      client.close();
      Duration took = Duration.ofNanos(System.nanoTime() - began);
      assertTrue(took.compareTo(Duration.ofSeconds(5)) < 0, took::toString); // It gives calls ten to end.
      assertEquals(ErrorKind.CLIENT_CLOSED, WithFakeMember.failure(put).kind());
      assertEquals(0, client.core().link.door().waiting());
    }
  }
}
