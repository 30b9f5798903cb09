package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
 * the value of the key.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ElectionServiceGrpc {

  private ElectionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.ElectionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.CampaignRequest,
      io.tenure.v1.CampaignResponse> getCampaignMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Campaign",
      requestType = io.tenure.v1.CampaignRequest.class,
      responseType = io.tenure.v1.CampaignResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.v1.CampaignRequest,
      io.tenure.v1.CampaignResponse> getCampaignMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.CampaignRequest, io.tenure.v1.CampaignResponse> getCampaignMethod;
    if ((getCampaignMethod = ElectionServiceGrpc.getCampaignMethod) == null) {
      synchronized (ElectionServiceGrpc.class) {
        if ((getCampaignMethod = ElectionServiceGrpc.getCampaignMethod) == null) {
          ElectionServiceGrpc.getCampaignMethod = getCampaignMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.CampaignRequest, io.tenure.v1.CampaignResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Campaign"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CampaignRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.CampaignResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ElectionServiceMethodDescriptorSupplier("Campaign"))
              .build();
        }
      }
    }
    return getCampaignMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ProclaimRequest,
      io.tenure.v1.ProclaimResponse> getProclaimMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Proclaim",
      requestType = io.tenure.v1.ProclaimRequest.class,
      responseType = io.tenure.v1.ProclaimResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ProclaimRequest,
      io.tenure.v1.ProclaimResponse> getProclaimMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ProclaimRequest, io.tenure.v1.ProclaimResponse> getProclaimMethod;
    if ((getProclaimMethod = ElectionServiceGrpc.getProclaimMethod) == null) {
      synchronized (ElectionServiceGrpc.class) {
        if ((getProclaimMethod = ElectionServiceGrpc.getProclaimMethod) == null) {
          ElectionServiceGrpc.getProclaimMethod = getProclaimMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ProclaimRequest, io.tenure.v1.ProclaimResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Proclaim"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ProclaimRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ProclaimResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ElectionServiceMethodDescriptorSupplier("Proclaim"))
              .build();
        }
      }
    }
    return getProclaimMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ResignRequest,
      io.tenure.v1.ResignResponse> getResignMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Resign",
      requestType = io.tenure.v1.ResignRequest.class,
      responseType = io.tenure.v1.ResignResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ResignRequest,
      io.tenure.v1.ResignResponse> getResignMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ResignRequest, io.tenure.v1.ResignResponse> getResignMethod;
    if ((getResignMethod = ElectionServiceGrpc.getResignMethod) == null) {
      synchronized (ElectionServiceGrpc.class) {
        if ((getResignMethod = ElectionServiceGrpc.getResignMethod) == null) {
          ElectionServiceGrpc.getResignMethod = getResignMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ResignRequest, io.tenure.v1.ResignResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Resign"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ResignRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ResignResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ElectionServiceMethodDescriptorSupplier("Resign"))
              .build();
        }
      }
    }
    return getResignMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.GetLeaderRequest,
      io.tenure.v1.GetLeaderResponse> getGetLeaderMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLeader",
      requestType = io.tenure.v1.GetLeaderRequest.class,
      responseType = io.tenure.v1.GetLeaderResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.GetLeaderRequest,
      io.tenure.v1.GetLeaderResponse> getGetLeaderMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.GetLeaderRequest, io.tenure.v1.GetLeaderResponse> getGetLeaderMethod;
    if ((getGetLeaderMethod = ElectionServiceGrpc.getGetLeaderMethod) == null) {
      synchronized (ElectionServiceGrpc.class) {
        if ((getGetLeaderMethod = ElectionServiceGrpc.getGetLeaderMethod) == null) {
          ElectionServiceGrpc.getGetLeaderMethod = getGetLeaderMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.GetLeaderRequest, io.tenure.v1.GetLeaderResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLeader"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetLeaderRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.GetLeaderResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ElectionServiceMethodDescriptorSupplier("GetLeader"))
              .build();
        }
      }
    }
    return getGetLeaderMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ObserveRequest,
      io.tenure.v1.ObserveResponse> getObserveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Observe",
      requestType = io.tenure.v1.ObserveRequest.class,
      responseType = io.tenure.v1.ObserveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ObserveRequest,
      io.tenure.v1.ObserveResponse> getObserveMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ObserveRequest, io.tenure.v1.ObserveResponse> getObserveMethod;
    if ((getObserveMethod = ElectionServiceGrpc.getObserveMethod) == null) {
      synchronized (ElectionServiceGrpc.class) {
        if ((getObserveMethod = ElectionServiceGrpc.getObserveMethod) == null) {
          ElectionServiceGrpc.getObserveMethod = getObserveMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ObserveRequest, io.tenure.v1.ObserveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Observe"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ObserveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ObserveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ElectionServiceMethodDescriptorSupplier("Observe"))
              .build();
        }
      }
    }
    return getObserveMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ElectionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ElectionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ElectionServiceStub>() {
        @java.lang.Override
        public ElectionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ElectionServiceStub(channel, callOptions);
        }
      };
    return ElectionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ElectionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ElectionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ElectionServiceBlockingV2Stub>() {
        @java.lang.Override
        public ElectionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ElectionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ElectionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ElectionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ElectionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ElectionServiceBlockingStub>() {
        @java.lang.Override
        public ElectionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ElectionServiceBlockingStub(channel, callOptions);
        }
      };
    return ElectionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ElectionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ElectionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ElectionServiceFutureStub>() {
        @java.lang.Override
        public ElectionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ElectionServiceFutureStub(channel, callOptions);
        }
      };
    return ElectionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
   * the value of the key.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Campaign waits in the queue for leadership and streams the progress. Errors: those of AcquireLock.
     * </pre>
     */
    default void campaign(io.tenure.v1.CampaignRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CampaignResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCampaignMethod(), responseObserver);
    }

    /**
     * <pre>
     * Proclaim changes the leader's value, if its hold is still valid. Errors: FENCING_TOKEN_STALE, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    default void proclaim(io.tenure.v1.ProclaimRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ProclaimResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getProclaimMethod(), responseObserver);
    }

    /**
     * <pre>
     * Resign gives up leadership, optionally to a named candidate in the queue. If the session and owner do not lead, that
     * is not an error. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors
     * of guards; with a named candidate also CANDIDATE_NOT_FOUND, FROZEN, and LOCK_MODE_MISMATCH if the hold is not
     * EXCLUSIVE.
     * </pre>
     */
    default void resign(io.tenure.v1.ResignRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ResignResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getResignMethod(), responseObserver);
    }

    /**
     * <pre>
     * GetLeader returns the leader. If there is none, that is not an error.
     * </pre>
     */
    default void getLeader(io.tenure.v1.GetLeaderRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetLeaderResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLeaderMethod(), responseObserver);
    }

    /**
     * <pre>
     * Observe streams the current leader, or none, then every change. Compaction does not end it: the current leader is
     * sent again, marked as a gap.
     * </pre>
     */
    default void observe(io.tenure.v1.ObserveRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ObserveResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getObserveMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ElectionService.
   * <pre>
   * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
   * the value of the key.
   * </pre>
   */
  public static abstract class ElectionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ElectionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ElectionService.
   * <pre>
   * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
   * the value of the key.
   * </pre>
   */
  public static final class ElectionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ElectionServiceStub> {
    private ElectionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ElectionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ElectionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Campaign waits in the queue for leadership and streams the progress. Errors: those of AcquireLock.
     * </pre>
     */
    public void campaign(io.tenure.v1.CampaignRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.CampaignResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getCampaignMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Proclaim changes the leader's value, if its hold is still valid. Errors: FENCING_TOKEN_STALE, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public void proclaim(io.tenure.v1.ProclaimRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ProclaimResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getProclaimMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Resign gives up leadership, optionally to a named candidate in the queue. If the session and owner do not lead, that
     * is not an error. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors
     * of guards; with a named candidate also CANDIDATE_NOT_FOUND, FROZEN, and LOCK_MODE_MISMATCH if the hold is not
     * EXCLUSIVE.
     * </pre>
     */
    public void resign(io.tenure.v1.ResignRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ResignResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getResignMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * GetLeader returns the leader. If there is none, that is not an error.
     * </pre>
     */
    public void getLeader(io.tenure.v1.GetLeaderRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.GetLeaderResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLeaderMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Observe streams the current leader, or none, then every change. Compaction does not end it: the current leader is
     * sent again, marked as a gap.
     * </pre>
     */
    public void observe(io.tenure.v1.ObserveRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ObserveResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getObserveMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ElectionService.
   * <pre>
   * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
   * the value of the key.
   * </pre>
   */
  public static final class ElectionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ElectionServiceBlockingV2Stub> {
    private ElectionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ElectionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ElectionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Campaign waits in the queue for leadership and streams the progress. Errors: those of AcquireLock.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.tenure.v1.CampaignResponse>
        campaign(io.tenure.v1.CampaignRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getCampaignMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Proclaim changes the leader's value, if its hold is still valid. Errors: FENCING_TOKEN_STALE, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.ProclaimResponse proclaim(io.tenure.v1.ProclaimRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getProclaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Resign gives up leadership, optionally to a named candidate in the queue. If the session and owner do not lead, that
     * is not an error. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors
     * of guards; with a named candidate also CANDIDATE_NOT_FOUND, FROZEN, and LOCK_MODE_MISMATCH if the hold is not
     * EXCLUSIVE.
     * </pre>
     */
    public io.tenure.v1.ResignResponse resign(io.tenure.v1.ResignRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getResignMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetLeader returns the leader. If there is none, that is not an error.
     * </pre>
     */
    public io.tenure.v1.GetLeaderResponse getLeader(io.tenure.v1.GetLeaderRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLeaderMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Observe streams the current leader, or none, then every change. Compaction does not end it: the current leader is
     * sent again, marked as a gap.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, io.tenure.v1.ObserveResponse>
        observe(io.tenure.v1.ObserveRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getObserveMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ElectionService.
   * <pre>
   * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
   * the value of the key.
   * </pre>
   */
  public static final class ElectionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ElectionServiceBlockingStub> {
    private ElectionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ElectionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ElectionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Campaign waits in the queue for leadership and streams the progress. Errors: those of AcquireLock.
     * </pre>
     */
    public java.util.Iterator<io.tenure.v1.CampaignResponse> campaign(
        io.tenure.v1.CampaignRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getCampaignMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Proclaim changes the leader's value, if its hold is still valid. Errors: FENCING_TOKEN_STALE, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public io.tenure.v1.ProclaimResponse proclaim(io.tenure.v1.ProclaimRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getProclaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Resign gives up leadership, optionally to a named candidate in the queue. If the session and owner do not lead, that
     * is not an error. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors
     * of guards; with a named candidate also CANDIDATE_NOT_FOUND, FROZEN, and LOCK_MODE_MISMATCH if the hold is not
     * EXCLUSIVE.
     * </pre>
     */
    public io.tenure.v1.ResignResponse resign(io.tenure.v1.ResignRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getResignMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * GetLeader returns the leader. If there is none, that is not an error.
     * </pre>
     */
    public io.tenure.v1.GetLeaderResponse getLeader(io.tenure.v1.GetLeaderRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLeaderMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Observe streams the current leader, or none, then every change. Compaction does not end it: the current leader is
     * sent again, marked as a gap.
     * </pre>
     */
    public java.util.Iterator<io.tenure.v1.ObserveResponse> observe(
        io.tenure.v1.ObserveRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getObserveMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ElectionService.
   * <pre>
   * ElectionService is a thin layer on locks. The leader is the holder of an EXCLUSIVE lock, and the leader's value is
   * the value of the key.
   * </pre>
   */
  public static final class ElectionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ElectionServiceFutureStub> {
    private ElectionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ElectionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ElectionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Proclaim changes the leader's value, if its hold is still valid. Errors: FENCING_TOKEN_STALE, SESSION_NOT_FOUND,
     * SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, TOO_LARGE, and the errors of guards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ProclaimResponse> proclaim(
        io.tenure.v1.ProclaimRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getProclaimMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Resign gives up leadership, optionally to a named candidate in the queue. If the session and owner do not lead, that
     * is not an error. Errors: SESSION_NOT_FOUND, SESSION_EXPIRED, SESSION_SUPERSEDED, SESSION_SECRET_WRONG, and the errors
     * of guards; with a named candidate also CANDIDATE_NOT_FOUND, FROZEN, and LOCK_MODE_MISMATCH if the hold is not
     * EXCLUSIVE.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ResignResponse> resign(
        io.tenure.v1.ResignRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getResignMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * GetLeader returns the leader. If there is none, that is not an error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.GetLeaderResponse> getLeader(
        io.tenure.v1.GetLeaderRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLeaderMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CAMPAIGN = 0;
  private static final int METHODID_PROCLAIM = 1;
  private static final int METHODID_RESIGN = 2;
  private static final int METHODID_GET_LEADER = 3;
  private static final int METHODID_OBSERVE = 4;

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
        case METHODID_CAMPAIGN:
          serviceImpl.campaign((io.tenure.v1.CampaignRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.CampaignResponse>) responseObserver);
          break;
        case METHODID_PROCLAIM:
          serviceImpl.proclaim((io.tenure.v1.ProclaimRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ProclaimResponse>) responseObserver);
          break;
        case METHODID_RESIGN:
          serviceImpl.resign((io.tenure.v1.ResignRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ResignResponse>) responseObserver);
          break;
        case METHODID_GET_LEADER:
          serviceImpl.getLeader((io.tenure.v1.GetLeaderRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.GetLeaderResponse>) responseObserver);
          break;
        case METHODID_OBSERVE:
          serviceImpl.observe((io.tenure.v1.ObserveRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ObserveResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getCampaignMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.tenure.v1.CampaignRequest,
              io.tenure.v1.CampaignResponse>(
                service, METHODID_CAMPAIGN)))
        .addMethod(
          getProclaimMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ProclaimRequest,
              io.tenure.v1.ProclaimResponse>(
                service, METHODID_PROCLAIM)))
        .addMethod(
          getResignMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ResignRequest,
              io.tenure.v1.ResignResponse>(
                service, METHODID_RESIGN)))
        .addMethod(
          getGetLeaderMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.GetLeaderRequest,
              io.tenure.v1.GetLeaderResponse>(
                service, METHODID_GET_LEADER)))
        .addMethod(
          getObserveMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              io.tenure.v1.ObserveRequest,
              io.tenure.v1.ObserveResponse>(
                service, METHODID_OBSERVE)))
        .build();
  }

  private static abstract class ElectionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ElectionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.ElectionProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ElectionService");
    }
  }

  private static final class ElectionServiceFileDescriptorSupplier
      extends ElectionServiceBaseDescriptorSupplier {
    ElectionServiceFileDescriptorSupplier() {}
  }

  private static final class ElectionServiceMethodDescriptorSupplier
      extends ElectionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ElectionServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (ElectionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ElectionServiceFileDescriptorSupplier())
              .addMethod(getCampaignMethod())
              .addMethod(getProclaimMethod())
              .addMethod(getResignMethod())
              .addMethod(getGetLeaderMethod())
              .addMethod(getObserveMethod())
              .build();
        }
      }
    }
    return result;
  }
}
