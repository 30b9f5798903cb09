package io.tenure;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tenure.internal.Wire;
import io.tenure.internal.session.SessionToken;
import io.tenure.v1.AcquireLockRequest;
import io.tenure.v1.AcquireLockResponse;
import io.tenure.v1.AttachSessionRequest;
import io.tenure.v1.AttachSessionResponse;
import io.tenure.v1.BreakLockRequest;
import io.tenure.v1.BreakLockResponse;
import io.tenure.v1.CancelWaitRequest;
import io.tenure.v1.CancelWaitResponse;
import io.tenure.v1.ClusterServiceGrpc;
import io.tenure.v1.CreateSessionRequest;
import io.tenure.v1.CreateSessionResponse;
import io.tenure.v1.DeleteRequest;
import io.tenure.v1.DeleteResponse;
import io.tenure.v1.DestroySessionRequest;
import io.tenure.v1.DestroySessionResponse;
import io.tenure.v1.ElectionServiceGrpc;
import io.tenure.v1.ErrorReason;
import io.tenure.v1.GetLeaderRequest;
import io.tenure.v1.GetLeaderResponse;
import io.tenure.v1.GetRequest;
import io.tenure.v1.GetResponse;
import io.tenure.v1.Hold;
import io.tenure.v1.KVServiceGrpc;
import io.tenure.v1.KeepAliveRequest;
import io.tenure.v1.KeepAliveResponse;
import io.tenure.v1.ListMembersRequest;
import io.tenure.v1.ListMembersResponse;
import io.tenure.v1.ListRequest;
import io.tenure.v1.ListResponse;
import io.tenure.v1.LockMode;
import io.tenure.v1.LockQueuedStep;
import io.tenure.v1.LockServiceGrpc;
import io.tenure.v1.ObserveRequest;
import io.tenure.v1.ObserveResponse;
import io.tenure.v1.PutRequest;
import io.tenure.v1.PutResponse;
import io.tenure.v1.ReleaseLockRequest;
import io.tenure.v1.ReleaseLockResponse;
import io.tenure.v1.RenewSessionRequest;
import io.tenure.v1.RenewSessionResponse;
import io.tenure.v1.RenewalVerdict;
import io.tenure.v1.ResignRequest;
import io.tenure.v1.ResignResponse;
import io.tenure.v1.ResponseHeader;
import io.tenure.v1.Sequencer;
import io.tenure.v1.Session;
import io.tenure.v1.SessionHint;
import io.tenure.v1.SessionServiceGrpc;
import io.tenure.v1.TryAcquireLockRequest;
import io.tenure.v1.TryAcquireLockResponse;
import io.tenure.v1.WatchRequest;
import io.tenure.v1.WatchResponse;
import io.tenure.v1.WatchServiceGrpc;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A member that does what a test says, for what a real one does only at an unlucky moment. It reads how a request is answered before it
 * notes that the request came, so that a test which has seen one may say how the next is answered.
 */
final class FakeMember implements AutoCloseable {
  static final long SOON_SECONDS = 60;
  /** More than the TTL of sessions: once the client's clock was put forward by it, a lease that was not renewed is over. */
  static final long LAPSE_SECONDS = 61;

  private static final Context.Key<String> CALLER = Context.key("caller");

  private final Server server;
  private final BlockingQueue<Object> seen = new LinkedBlockingQueue<>();
  private final List<SessionHint> hints = new ArrayList<>();
  // Guarded by renewals: the streams that are open, whether they are answered, and what is answered later.
  private final List<StreamObserver<KeepAliveResponse>> renewals = new ArrayList<>();
  private final List<Runnable> withheld = new ArrayList<>();
  private boolean silent;
  volatile Duration ttl = Duration.ofSeconds(60);
  /** By the client's clock, which is slow. */
  volatile Duration renewEvery = Duration.ofMillis(10);
  volatile BiConsumer<CreateSessionRequest, StreamObserver<CreateSessionResponse>> create = this::createAtOnce;
  volatile BiConsumer<AttachSessionRequest, StreamObserver<AttachSessionResponse>> attach = (r, o) -> reply(o, truth(r));
  volatile BiConsumer<DestroySessionRequest, StreamObserver<DestroySessionResponse>> destroy =
      (r, o) -> reply(o, DestroySessionResponse.getDefaultInstance());
  /** Why renewals are refused; unspecified: they are not. */
  volatile ErrorReason refused = ErrorReason.ERROR_REASON_UNSPECIFIED;
  /** Sessions whose renewals are refused for want of a right. */
  final Set<String> denied = ConcurrentHashMap.newKeySet();
  /** The only value of the header {@code authorization} to which they are denied; null for any. It is looked at per stream. */
  volatile String deniedTo;
  /** What is done with a stream of renewals before the first one. */
  volatile Consumer<StreamObserver<KeepAliveResponse>> keepAlive = o -> { };
  volatile BiConsumer<PutRequest, StreamObserver<PutResponse>> put = (r, o) -> reply(o, PutResponse.getDefaultInstance());
  volatile BiConsumer<DeleteRequest, StreamObserver<DeleteResponse>> delete =
      (r, o) -> reply(o, DeleteResponse.newBuilder().setDeleted(true).build());
  volatile BiConsumer<ListRequest, StreamObserver<ListResponse>> list = (r, o) -> reply(o, ListResponse.getDefaultInstance());
  volatile BiConsumer<GetRequest, StreamObserver<GetResponse>> get = (r, o) -> reply(o, GetResponse.getDefaultInstance());
  /** What is done with a watch; it is silent otherwise. */
  volatile BiConsumer<WatchRequest, StreamObserver<WatchResponse>> watch = (r, o) -> { };
  volatile BiConsumer<GetLeaderRequest, StreamObserver<GetLeaderResponse>> getLeader =
      (r, o) -> reply(o, GetLeaderResponse.getDefaultInstance());
  /** What is done with an observer; it is told nothing otherwise. */
  volatile BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> observe = (r, o) -> { };
  volatile Consumer<Acquire> acquire = a -> { };
  volatile BiConsumer<TryAcquireLockRequest, StreamObserver<TryAcquireLockResponse>> tryAcquire;
  volatile BiConsumer<ReleaseLockRequest, StreamObserver<ReleaseLockResponse>> release =
      (r, o) -> reply(o, ReleaseLockResponse.newBuilder().setReleased(true).build());
  volatile BiConsumer<CancelWaitRequest, StreamObserver<CancelWaitResponse>> cancelWait =
      (r, o) -> reply(o, CancelWaitResponse.getDefaultInstance());
  volatile BiConsumer<BreakLockRequest, StreamObserver<BreakLockResponse>> breakLock =
      (r, o) -> reply(o, BreakLockResponse.getDefaultInstance());
  volatile BiConsumer<ResignRequest, StreamObserver<ResignResponse>> resign =
      (r, o) -> reply(o, ResignResponse.newBuilder().setResigned(true).build());
  volatile BiConsumer<ListMembersRequest, StreamObserver<ListMembersResponse>> listMembers =
      (r, o) -> reply(o, ListMembersResponse.getDefaultInstance());
  volatile BiConsumer<RenewSessionRequest, StreamObserver<RenewSessionResponse>> renew =
      (r, o) -> reply(o, RenewSessionResponse.getDefaultInstance());

  /** The only value of the header {@code authorization} that calls may have; null for any. */
  volatile String authorization;

  /** Refuses calls of others. */
  private final class TokenCheck implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      String got = headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
      if (authorization == null || authorization.equals(got)) {
        return Contexts.interceptCall(Context.current().withValue(CALLER, String.valueOf(got)), call, headers, next);
      }
      call.close(io.grpc.Status.UNAUTHENTICATED.withDescription("not known: " + got), new Metadata());
      return new ServerCall.Listener<>() { };
    }
  }

  /** One AcquireLock stream. */
  record Acquire(AcquireLockRequest request, StreamObserver<AcquireLockResponse> out) {
    void queued() {
      out.onNext(AcquireLockResponse.newBuilder().setQueued(LockQueuedStep.getDefaultInstance()).build());
    }

    void grant(Hold hold) {
      out.onNext(AcquireLockResponse.newBuilder().setGranted(hold).build());
      out.onCompleted();
    }

    Hold hold(long token) {
      return Hold.newBuilder().setOwner(request.getOptions().getOwner()).setMode(LockMode.LOCK_MODE_EXCLUSIVE)
          .setSequencer(Sequencer.newBuilder().setKey(request.getKey()).setSessionId(request.getSessionId())
              .setLockIndex(token).setFencingToken(token)).build();
    }
  }

  /** One renewal. */
  record Renewal(String session, long number) {}

  FakeMember() throws IOException {
    this(InsecureServerCredentials.create());
  }

  FakeMember(ServerCredentials credentials, BindableService... more) throws IOException {
    ServerBuilder<?> builder = Grpc.newServerBuilderForPort(0, credentials).intercept(new TokenCheck())
        .addService(new Sessions()).addService(new Locks()).addService(new Keys()).addService(new Members())
        .addService(new Watches()).addService(new Elections());
    List.of(more).forEach(builder::addService);
    server = builder.build().start();
  }

  int port() {
    return server.getPort();
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  String uri() {
    return "tenure://" + address();
  }

  /** Returns the token of a session that was handed over. */
  static String token() {
    return token(true);
  }

  static String token(boolean handedOver) {
    return new SessionToken(UUID.randomUUID().toString(), new byte[32], 1, Duration.ofSeconds(10), handedOver).text();
  }

  /** Waits for the next request of a kind; what is of another kind is forgotten. */
  <T> T next(Class<T> kind) throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
    while (true) {
      Object o = seen.poll(Math.max(0, until - System.nanoTime()), TimeUnit.NANOSECONDS);
      if (o == null) {
        throw new AssertionError("no " + kind.getSimpleName() + " within " + SOON_SECONDS + " s");
      }
      if (kind.isInstance(o)) {
        return kind.cast(o);
      }
    }
  }

  /** Returns what came and was not asked for yet, of all kinds. */
  List<Object> seen() {
    List<Object> all = new ArrayList<>();
    seen.drainTo(all);
    return all;
  }

  /** Answers no renewals any more. */
  void fallSilent() {
    synchronized (renewals) {
      silent = true;
    }
  }

  /** Answers renewals again, first those that came meanwhile. */
  void speak() {
    synchronized (renewals) {
      silent = false;
      withheld.forEach(Runnable::run);
      withheld.clear();
    }
  }

  /** Breaks what renews sessions, once that has begun, so that the client connects anew and asks what they have. */
  void breakOff() throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_SECONDS);
    synchronized (renewals) {
      while (renewals.isEmpty()) {
        long left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
        if (left <= 0) {
          throw new AssertionError("no stream of renewals within " + SOON_SECONDS + " s");
        }
        renewals.wait(left);
      }
      renewals.forEach(out -> out.onError(io.grpc.Status.UNAVAILABLE.asRuntimeException()));
      renewals.clear();
    }
  }

  /** Sends a hint with the next verdict. */
  void hint(SessionHint hint) {
    synchronized (hints) {
      hints.add(hint);
    }
  }

  static <T> void reply(StreamObserver<T> to, T answer) {
    to.onNext(answer);
    to.onCompleted();
  }

  static StatusRuntimeException refusal(int code, String reason, String... facts) {
    ErrorInfo.Builder info = ErrorInfo.newBuilder().setDomain("tenure.io").setReason(reason).putMetadata("applied", "no");
    for (int i = 0; i < facts.length; i += 2) {
      info.putMetadata(facts[i], facts[i + 1]);
    }
    return StatusProto.toStatusRuntimeException(Status.newBuilder().setCode(code).setMessage(reason)
        .addDetails(Any.pack(info.build())).build());
  }

  static StatusRuntimeException windowFull() {
    return refusal(Code.RESOURCE_EXHAUSTED_VALUE, "REQUEST_WINDOW_FULL");
  }

  void createAtOnce(CreateSessionRequest r, StreamObserver<CreateSessionResponse> o) {
    reply(o, CreateSessionResponse.newBuilder().setSessionId(UUID.randomUUID().toString()).setEpoch(1)
        .setTtl(Wire.duration(ttl)).setKeepaliveInterval(Wire.duration(renewEvery)).build());
  }

  AttachSessionResponse truth(AttachSessionRequest r, Hold... holds) {
    return AttachSessionResponse.newBuilder().setHeader(ResponseHeader.newBuilder().setRevision(1))
        .setSession(Session.newBuilder().setSessionId(r.getSessionId()).setTtl(Wire.duration(ttl))
            .setEpoch(r.getTakeOver() ? r.getOptions().getEpoch() + 1 : r.getOptions().getEpoch()))
        .addAllHolds(List.of(holds)).build();
  }

  @Override
  public void close() throws InterruptedException {
    server.shutdownNow();
    server.awaitTermination();
  }

  private final class Sessions extends SessionServiceGrpc.SessionServiceImplBase {
    @Override
    public void createSession(CreateSessionRequest r, StreamObserver<CreateSessionResponse> o) {
      var how = create;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void attachSession(AttachSessionRequest r, StreamObserver<AttachSessionResponse> o) {
      var how = attach;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void destroySession(DestroySessionRequest r, StreamObserver<DestroySessionResponse> o) {
      var how = destroy;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void renewSession(RenewSessionRequest r, StreamObserver<RenewSessionResponse> o) {
      var how = renew;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public StreamObserver<KeepAliveRequest> keepAlive(StreamObserver<KeepAliveResponse> out) {
      ((ServerCallStreamObserver<KeepAliveResponse>) out).setOnCancelHandler(() -> { });
      synchronized (renewals) {
        renewals.add(out);
        renewals.notifyAll();
      }
      keepAlive.accept(out);
      String caller = CALLER.get();
      return new StreamObserver<>() {
        @Override
        public void onNext(KeepAliveRequest request) {
          KeepAliveResponse.Builder answer = KeepAliveResponse.newBuilder();
          request.getRenewalsList().forEach(r -> answer.addVerdicts(RenewalVerdict.newBuilder()
              .setSessionId(r.getSessionId()).setNumber(r.getNumber()).setTtl(Wire.duration(ttl)).setRefused(
                  denied.contains(r.getSessionId()) && (deniedTo == null || deniedTo.equals(caller)) ? ErrorReason.ERROR_REASON_PERMISSION_DENIED : refused)));
          request.getRenewalsList().forEach(r -> seen.add(new Renewal(r.getSessionId(), r.getNumber())));
          synchronized (hints) {
            answer.addAllHints(hints);
            hints.clear();
          }
          Runnable send = () -> {
            if (renewals.contains(out)) {
              out.onNext(answer.build());
            }
          };
          synchronized (renewals) {
            if (silent) {
              withheld.add(send);
            } else {
              send.run();
            }
          }
        }

        @Override
        public void onError(Throwable t) {
          // The client ended it.
        }

        @Override
        public void onCompleted() {
          out.onCompleted();
        }
      };
    }
  }

  private final class Locks extends LockServiceGrpc.LockServiceImplBase {
    @Override
    public void acquireLock(AcquireLockRequest r, StreamObserver<AcquireLockResponse> o) {
      ((ServerCallStreamObserver<AcquireLockResponse>) o).setOnCancelHandler(() -> { });
      Acquire a = new Acquire(r, o);
      var how = acquire;
      seen.add(a);
      how.accept(a);
    }

    @Override
    public void tryAcquireLock(TryAcquireLockRequest r, StreamObserver<TryAcquireLockResponse> o) {
      var how = tryAcquire;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void releaseLock(ReleaseLockRequest r, StreamObserver<ReleaseLockResponse> o) {
      var how = release;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void cancelWait(CancelWaitRequest r, StreamObserver<CancelWaitResponse> o) {
      var how = cancelWait;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void breakLock(BreakLockRequest r, StreamObserver<BreakLockResponse> o) {
      var how = breakLock;
      seen.add(r);
      how.accept(r, o);
    }
  }

  private final class Keys extends KVServiceGrpc.KVServiceImplBase {
    @Override
    public void put(PutRequest r, StreamObserver<PutResponse> o) {
      var how = put;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void delete(DeleteRequest r, StreamObserver<DeleteResponse> o) {
      var how = delete;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void list(ListRequest r, StreamObserver<ListResponse> o) {
      list.accept(r, o);
    }

    @Override
    public void get(GetRequest r, StreamObserver<GetResponse> o) {
      var how = get;
      seen.add(r);
      how.accept(r, o);
    }
  }

  private final class Watches extends WatchServiceGrpc.WatchServiceImplBase {
    @Override
    public void watch(WatchRequest r, StreamObserver<WatchResponse> o) {
      ((ServerCallStreamObserver<WatchResponse>) o).setOnCancelHandler(() -> { });
      var how = watch;
      seen.add(r);
      how.accept(r, o);
    }
  }

  private final class Elections extends ElectionServiceGrpc.ElectionServiceImplBase {
    @Override
    public void resign(ResignRequest r, StreamObserver<ResignResponse> o) {
      var how = resign;
      seen.add(r);
      how.accept(r, o);
    }

    @Override
    public void getLeader(GetLeaderRequest r, StreamObserver<GetLeaderResponse> o) {
      getLeader.accept(r, o);
    }

    @Override
    public void observe(ObserveRequest r, StreamObserver<ObserveResponse> o) {
      ((ServerCallStreamObserver<ObserveResponse>) o).setOnCancelHandler(() -> { });
      observe.accept(r, o);
    }
  }

  private final class Members extends ClusterServiceGrpc.ClusterServiceImplBase {
    @Override
    public void listMembers(ListMembersRequest r, StreamObserver<ListMembersResponse> o) {
      listMembers.accept(r, o);
    }
  }
}
