package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
 * ephemeral keys belong to a session. It is not a connection: every member can serve it.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SessionServiceGrpc {

  private SessionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.SessionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CreateSessionRequest,
      io.tenure.v1.CreateSessionResponse> getCreateSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateSession",
      requestType = io.tenure.v1.CreateSessionRequest.class,
      responseType = io.tenure.v1.CreateSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CreateSessionRequest,
      io.tenure.v1.CreateSessionResponse> getCreateSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CreateSessionRequest, io.tenure.v1.CreateSessionResponse> getCreateSessionMethod;
    if ((getCreateSessionMethod = SessionServiceGrpc.getCreateSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getCreateSessionMethod = SessionServiceGrpc.getCreateSessionMethod) == null) {
          SessionServiceGrpc.getCreateSessionMethod = getCreateSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CreateSessionRequest, io.tenure.v1.CreateSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CreateSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CreateSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("CreateSession"))
              .build();
        }
      }
    }
    return getCreateSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.RenewSessionRequest,
      io.tenure.v1.RenewSessionResponse> getRenewSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RenewSession",
      requestType = io.tenure.v1.RenewSessionRequest.class,
      responseType = io.tenure.v1.RenewSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.RenewSessionRequest,
      io.tenure.v1.RenewSessionResponse> getRenewSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.RenewSessionRequest, io.tenure.v1.RenewSessionResponse> getRenewSessionMethod;
    if ((getRenewSessionMethod = SessionServiceGrpc.getRenewSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getRenewSessionMethod = SessionServiceGrpc.getRenewSessionMethod) == null) {
          SessionServiceGrpc.getRenewSessionMethod = getRenewSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.RenewSessionRequest, io.tenure.v1.RenewSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RenewSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RenewSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.RenewSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("RenewSession"))
              .build();
        }
      }
    }
    return getRenewSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.KeepAliveRequest,
      io.tenure.v1.KeepAliveResponse> getKeepAliveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "KeepAlive",
      requestType = io.tenure.v1.KeepAliveRequest.class,
      responseType = io.tenure.v1.KeepAliveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.v1.KeepAliveRequest,
      io.tenure.v1.KeepAliveResponse> getKeepAliveMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.KeepAliveRequest, io.tenure.v1.KeepAliveResponse> getKeepAliveMethod;
    if ((getKeepAliveMethod = SessionServiceGrpc.getKeepAliveMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getKeepAliveMethod = SessionServiceGrpc.getKeepAliveMethod) == null) {
          SessionServiceGrpc.getKeepAliveMethod = getKeepAliveMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.KeepAliveRequest, io.tenure.v1.KeepAliveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "KeepAlive"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.KeepAliveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.KeepAliveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("KeepAlive"))
              .build();
        }
      }
    }
    return getKeepAliveMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.AttachSessionRequest,
      io.tenure.v1.AttachSessionResponse> getAttachSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AttachSession",
      requestType = io.tenure.v1.AttachSessionRequest.class,
      responseType = io.tenure.v1.AttachSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.AttachSessionRequest,
      io.tenure.v1.AttachSessionResponse> getAttachSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.AttachSessionRequest, io.tenure.v1.AttachSessionResponse> getAttachSessionMethod;
    if ((getAttachSessionMethod = SessionServiceGrpc.getAttachSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getAttachSessionMethod = SessionServiceGrpc.getAttachSessionMethod) == null) {
          SessionServiceGrpc.getAttachSessionMethod = getAttachSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.AttachSessionRequest, io.tenure.v1.AttachSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AttachSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AttachSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.AttachSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("AttachSession"))
              .build();
        }
      }
    }
    return getAttachSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.DestroySessionRequest,
      io.tenure.v1.DestroySessionResponse> getDestroySessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DestroySession",
      requestType = io.tenure.v1.DestroySessionRequest.class,
      responseType = io.tenure.v1.DestroySessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.DestroySessionRequest,
      io.tenure.v1.DestroySessionResponse> getDestroySessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.DestroySessionRequest, io.tenure.v1.DestroySessionResponse> getDestroySessionMethod;
    if ((getDestroySessionMethod = SessionServiceGrpc.getDestroySessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getDestroySessionMethod = SessionServiceGrpc.getDestroySessionMethod) == null) {
          SessionServiceGrpc.getDestroySessionMethod = getDestroySessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.DestroySessionRequest, io.tenure.v1.DestroySessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DestroySession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DestroySessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.DestroySessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("DestroySession"))
              .build();
        }
      }
    }
    return getDestroySessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetSessionRequest,
      io.tenure.v1.GetSessionResponse> getGetSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetSession",
      requestType = io.tenure.v1.GetSessionRequest.class,
      responseType = io.tenure.v1.GetSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetSessionRequest,
      io.tenure.v1.GetSessionResponse> getGetSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetSessionRequest, io.tenure.v1.GetSessionResponse> getGetSessionMethod;
    if ((getGetSessionMethod = SessionServiceGrpc.getGetSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getGetSessionMethod = SessionServiceGrpc.getGetSessionMethod) == null) {
          SessionServiceGrpc.getGetSessionMethod = getGetSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetSessionRequest, io.tenure.v1.GetSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("GetSession"))
              .build();
        }
      }
    }
    return getGetSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListSessionsRequest,
      io.tenure.v1.ListSessionsResponse> getListSessionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSessions",
      requestType = io.tenure.v1.ListSessionsRequest.class,
      responseType = io.tenure.v1.ListSessionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListSessionsRequest,
      io.tenure.v1.ListSessionsResponse> getListSessionsMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListSessionsRequest, io.tenure.v1.ListSessionsResponse> getListSessionsMethod;
    if ((getListSessionsMethod = SessionServiceGrpc.getListSessionsMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getListSessionsMethod = SessionServiceGrpc.getListSessionsMethod) == null) {
          SessionServiceGrpc.getListSessionsMethod = getListSessionsMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListSessionsRequest, io.tenure.v1.ListSessionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSessions"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListSessionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListSessionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("ListSessions"))
              .build();
        }
      }
    }
    return getListSessionsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SessionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub>() {
        @java.lang.Override
        public SessionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceStub(channel, callOptions);
        }
      };
    return SessionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SessionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingV2Stub>() {
        @java.lang.Override
        public SessionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SessionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SessionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub>() {
        @java.lang.Override
        public SessionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingStub(channel, callOptions);
        }
      };
    return SessionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SessionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub>() {
        @java.lang.Override
        public SessionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceFutureStub(channel, callOptions);
        }
      };
    return SessionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
   * ephemeral keys belong to a session. It is not a connection: every member can serve it.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * CreateSession opens a session.
     * Errors: TTL_OUT_OF_RANGE, LOCK_DELAY_OUT_OF_RANGE, INVALID_ARGUMENT, LIMIT_EXCEEDED; NODE_NOT_FOUND,
     * CHECK_NOT_FOUND and CHECK_CRITICAL for checks; FEATURE_NOT_ENABLED for checks before the cluster version that knows
     * the catalog.
     * </pre>
     */
    default void createSession(io.tenure.v1.CreateSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CreateSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * RenewSession restarts the TTL of one session. It writes nothing to the log. It is for scripts; programs use
     * KeepAlive. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    default void renewSession(io.tenure.v1.RenewSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RenewSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * KeepAlive renews many sessions over one stream. Every renewal gets a verdict that names it. Verdicts may be merged
     * into one response, and may arrive in a different order. A verdict is about one session and never ends the stream.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.tenure.v1.KeepAliveRequest> keepAlive(
        io.grpc.stub.StreamObserver<io.tenure.v1.KeepAliveResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getKeepAliveMethod(), responseObserver);
    }

    /**
     * <pre>
     * AttachSession returns the authoritative state of a session to the process that uses it: its holds and its places in
     * queues. With take_over, another process instance becomes its user: the epoch increases, and every hold gets a new
     * lock_index and token. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG,
     * EPOCH_MISMATCH, ATTEMPT_OUTDATED.
     * </pre>
     */
    default void attachSession(io.tenure.v1.AttachSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AttachSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAttachSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * DestroySession ends a session and releases everything it holds. If the session has already ended, that is not an
     * error. Errors: SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    default void destroySession(io.tenure.v1.DestroySessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DestroySessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDestroySessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetSession returns one session, live or among the last 10 000 that ended.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    default void getSession(io.tenure.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * ListSessions lists live sessions, ordered by id, in pages.
     * </pre>
     */
    default void listSessions(io.tenure.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSessionsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SessionService.
   * <pre>
   * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
   * ephemeral keys belong to a session. It is not a connection: every member can serve it.
   * </pre>
   */
  public static abstract class SessionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SessionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SessionService.
   * <pre>
   * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
   * ephemeral keys belong to a session. It is not a connection: every member can serve it.
   * </pre>
   */
  public static final class SessionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SessionServiceStub> {
    private SessionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateSession opens a session.
     * Errors: TTL_OUT_OF_RANGE, LOCK_DELAY_OUT_OF_RANGE, INVALID_ARGUMENT, LIMIT_EXCEEDED; NODE_NOT_FOUND,
     * CHECK_NOT_FOUND and CHECK_CRITICAL for checks; FEATURE_NOT_ENABLED for checks before the cluster version that knows
     * the catalog.
     * </pre>
     */
    public void createSession(io.tenure.v1.CreateSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CreateSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * RenewSession restarts the TTL of one session. It writes nothing to the log. It is for scripts; programs use
     * KeepAlive. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public void renewSession(io.tenure.v1.RenewSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.RenewSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * KeepAlive renews many sessions over one stream. Every renewal gets a verdict that names it. Verdicts may be merged
     * into one response, and may arrive in a different order. A verdict is about one session and never ends the stream.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.tenure.v1.KeepAliveRequest> keepAlive(
        io.grpc.stub.StreamObserver<io.tenure.v1.KeepAliveResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getKeepAliveMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * AttachSession returns the authoritative state of a session to the process that uses it: its holds and its places in
     * queues. With take_over, another process instance becomes its user: the epoch increases, and every hold gets a new
     * lock_index and token. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG,
     * EPOCH_MISMATCH, ATTEMPT_OUTDATED.
     * </pre>
     */
    public void attachSession(io.tenure.v1.AttachSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.AttachSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAttachSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * DestroySession ends a session and releases everything it holds. If the session has already ended, that is not an
     * error. Errors: SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public void destroySession(io.tenure.v1.DestroySessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.DestroySessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDestroySessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetSession returns one session, live or among the last 10 000 that ended.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public void getSession(io.tenure.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ListSessions lists live sessions, ordered by id, in pages.
     * </pre>
     */
    public void listSessions(io.tenure.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SessionService.
   * <pre>
   * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
   * ephemeral keys belong to a session. It is not a connection: every member can serve it.
   * </pre>
   */
  public static final class SessionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingV2Stub> {
    private SessionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateSession opens a session.
     * Errors: TTL_OUT_OF_RANGE, LOCK_DELAY_OUT_OF_RANGE, INVALID_ARGUMENT, LIMIT_EXCEEDED; NODE_NOT_FOUND,
     * CHECK_NOT_FOUND and CHECK_CRITICAL for checks; FEATURE_NOT_ENABLED for checks before the cluster version that knows
     * the catalog.
     * </pre>
     */
    public io.tenure.v1.CreateSessionResponse createSession(io.tenure.v1.CreateSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RenewSession restarts the TTL of one session. It writes nothing to the log. It is for scripts; programs use
     * KeepAlive. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public io.tenure.v1.RenewSessionResponse renewSession(io.tenure.v1.RenewSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenewSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * KeepAlive renews many sessions over one stream. Every renewal gets a verdict that names it. Verdicts may be merged
     * into one response, and may arrive in a different order. A verdict is about one session and never ends the stream.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.tenure.v1.KeepAliveRequest, io.tenure.v1.KeepAliveResponse>
        keepAlive() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getKeepAliveMethod(), getCallOptions());
    }

    /**
     * <pre>
     * AttachSession returns the authoritative state of a session to the process that uses it: its holds and its places in
     * queues. With take_over, another process instance becomes its user: the epoch increases, and every hold gets a new
     * lock_index and token. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG,
     * EPOCH_MISMATCH, ATTEMPT_OUTDATED.
     * </pre>
     */
    public io.tenure.v1.AttachSessionResponse attachSession(io.tenure.v1.AttachSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAttachSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DestroySession ends a session and releases everything it holds. If the session has already ended, that is not an
     * error. Errors: SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public io.tenure.v1.DestroySessionResponse destroySession(io.tenure.v1.DestroySessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDestroySessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetSession returns one session, live or among the last 10 000 that ended.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetSessionResponse getSession(io.tenure.v1.GetSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListSessions lists live sessions, ordered by id, in pages.
     * </pre>
     */
    public io.tenure.v1.ListSessionsResponse listSessions(io.tenure.v1.ListSessionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SessionService.
   * <pre>
   * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
   * ephemeral keys belong to a session. It is not a connection: every member can serve it.
   * </pre>
   */
  public static final class SessionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingStub> {
    private SessionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateSession opens a session.
     * Errors: TTL_OUT_OF_RANGE, LOCK_DELAY_OUT_OF_RANGE, INVALID_ARGUMENT, LIMIT_EXCEEDED; NODE_NOT_FOUND,
     * CHECK_NOT_FOUND and CHECK_CRITICAL for checks; FEATURE_NOT_ENABLED for checks before the cluster version that knows
     * the catalog.
     * </pre>
     */
    public io.tenure.v1.CreateSessionResponse createSession(io.tenure.v1.CreateSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * RenewSession restarts the TTL of one session. It writes nothing to the log. It is for scripts; programs use
     * KeepAlive. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public io.tenure.v1.RenewSessionResponse renewSession(io.tenure.v1.RenewSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * AttachSession returns the authoritative state of a session to the process that uses it: its holds and its places in
     * queues. With take_over, another process instance becomes its user: the epoch increases, and every hold gets a new
     * lock_index and token. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG,
     * EPOCH_MISMATCH, ATTEMPT_OUTDATED.
     * </pre>
     */
    public io.tenure.v1.AttachSessionResponse attachSession(io.tenure.v1.AttachSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAttachSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * DestroySession ends a session and releases everything it holds. If the session has already ended, that is not an
     * error. Errors: SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public io.tenure.v1.DestroySessionResponse destroySession(io.tenure.v1.DestroySessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDestroySessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetSession returns one session, live or among the last 10 000 that ended.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public io.tenure.v1.GetSessionResponse getSession(io.tenure.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ListSessions lists live sessions, ordered by id, in pages.
     * </pre>
     */
    public io.tenure.v1.ListSessionsResponse listSessions(io.tenure.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SessionService.
   * <pre>
   * SessionService opens, renews and ends sessions. A session is a client's replicated claim to be alive. Locks and
   * ephemeral keys belong to a session. It is not a connection: every member can serve it.
   * </pre>
   */
  public static final class SessionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SessionServiceFutureStub> {
    private SessionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * CreateSession opens a session.
     * Errors: TTL_OUT_OF_RANGE, LOCK_DELAY_OUT_OF_RANGE, INVALID_ARGUMENT, LIMIT_EXCEEDED; NODE_NOT_FOUND,
     * CHECK_NOT_FOUND and CHECK_CRITICAL for checks; FEATURE_NOT_ENABLED for checks before the cluster version that knows
     * the catalog.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.CreateSessionResponse> createSession(
        io.tenure.v1.CreateSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * RenewSession restarts the TTL of one session. It writes nothing to the log. It is for scripts; programs use
     * KeepAlive. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.RenewSessionResponse> renewSession(
        io.tenure.v1.RenewSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * AttachSession returns the authoritative state of a session to the process that uses it: its holds and its places in
     * queues. With take_over, another process instance becomes its user: the epoch increases, and every hold gets a new
     * lock_index and token. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG,
     * EPOCH_MISMATCH, ATTEMPT_OUTDATED.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.AttachSessionResponse> attachSession(
        io.tenure.v1.AttachSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAttachSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * DestroySession ends a session and releases everything it holds. If the session has already ended, that is not an
     * error. Errors: SESSION_NOT_FOUND, SESSION_SUPERSEDED, SESSION_SECRET_WRONG.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.DestroySessionResponse> destroySession(
        io.tenure.v1.DestroySessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDestroySessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetSession returns one session, live or among the last 10 000 that ended.
     * Errors: SESSION_NOT_FOUND.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetSessionResponse> getSession(
        io.tenure.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ListSessions lists live sessions, ordered by id, in pages.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListSessionsResponse> listSessions(
        io.tenure.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_SESSION = 0;
  private static final int METHODID_RENEW_SESSION = 1;
  private static final int METHODID_ATTACH_SESSION = 2;
  private static final int METHODID_DESTROY_SESSION = 3;
  private static final int METHODID_GET_SESSION = 4;
  private static final int METHODID_LIST_SESSIONS = 5;
  private static final int METHODID_KEEP_ALIVE = 6;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_CREATE_SESSION:
          serviceImpl.createSession((io.tenure.v1.CreateSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CreateSessionResponse>) responseObserver);
          break;
        case METHODID_RENEW_SESSION:
          serviceImpl.renewSession((io.tenure.v1.RenewSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.RenewSessionResponse>) responseObserver);
          break;
        case METHODID_ATTACH_SESSION:
          serviceImpl.attachSession((io.tenure.v1.AttachSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.AttachSessionResponse>) responseObserver);
          break;
        case METHODID_DESTROY_SESSION:
          serviceImpl.destroySession((io.tenure.v1.DestroySessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.DestroySessionResponse>) responseObserver);
          break;
        case METHODID_GET_SESSION:
          serviceImpl.getSession((io.tenure.v1.GetSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetSessionResponse>) responseObserver);
          break;
        case METHODID_LIST_SESSIONS:
          serviceImpl.listSessions((io.tenure.v1.ListSessionsRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListSessionsResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_KEEP_ALIVE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.keepAlive(
              (io.grpc.stub.StreamObserver<io.tenure.v1.KeepAliveResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getCreateSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.CreateSessionRequest,
              io.tenure.v1.CreateSessionResponse>(
                service, METHODID_CREATE_SESSION)))
        .addMethod(
          getRenewSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.RenewSessionRequest,
              io.tenure.v1.RenewSessionResponse>(
                service, METHODID_RENEW_SESSION)))
        .addMethod(
          getKeepAliveMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.tenure.v1.KeepAliveRequest,
              io.tenure.v1.KeepAliveResponse>(
                service, METHODID_KEEP_ALIVE)))
        .addMethod(
          getAttachSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.AttachSessionRequest,
              io.tenure.v1.AttachSessionResponse>(
                service, METHODID_ATTACH_SESSION)))
        .addMethod(
          getDestroySessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.DestroySessionRequest,
              io.tenure.v1.DestroySessionResponse>(
                service, METHODID_DESTROY_SESSION)))
        .addMethod(
          getGetSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetSessionRequest,
              io.tenure.v1.GetSessionResponse>(
                service, METHODID_GET_SESSION)))
        .addMethod(
          getListSessionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListSessionsRequest,
              io.tenure.v1.ListSessionsResponse>(
                service, METHODID_LIST_SESSIONS)))
        .build();
  }

  private static abstract class SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SessionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.SessionProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SessionService");
    }
  }

  private static final class SessionServiceFileDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier {
    SessionServiceFileDescriptorSupplier() {}
  }

  private static final class SessionServiceMethodDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SessionServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (SessionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SessionServiceFileDescriptorSupplier())
              .addMethod(getCreateSessionMethod())
              .addMethod(getRenewSessionMethod())
              .addMethod(getKeepAliveMethod())
              .addMethod(getAttachSessionMethod())
              .addMethod(getDestroySessionMethod())
              .addMethod(getGetSessionMethod())
              .addMethod(getListSessionsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
