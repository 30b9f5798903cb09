package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.tenure.v1.KVServiceGrpc;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.WatchRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
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
    }, clock::get, Runnable::run, Runnable::run);
    assertEquals("a", token.get());
    thrown.set(new NoClassDefFoundError("x"));
    clock.addAndGet(Token.AGE_NANOS);
    assertEquals("a", token.get());
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
    }, clock::get, Runnable::run, Runnable::run);
    assertEquals("a", token.get() + (asked.get() == 1 ? "" : asked));
    text.set("b\n");
    clock.addAndGet(Token.AGE_NANOS - 1);
    assertEquals("a", token.get() + (asked.get() == 1 ? "" : asked));
    clock.addAndGet(1);
    assertEquals("b", token.get() + (asked.get() == 2 ? "" : asked));
    text.set(""); // What there was may be good still.
    clock.addAndGet(Token.AGE_NANOS);
    assertEquals("b", token.get() + (asked.get() == 3 ? "" : asked));
  }
}
