package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
 * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class PoolServiceGrpc {

  private PoolServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.PoolService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ListPoolRequest,
      io.tenure.v1.ListPoolResponse> getListPoolMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListPool",
      requestType = io.tenure.v1.ListPoolRequest.class,
      responseType = io.tenure.v1.ListPoolResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ListPoolRequest,
      io.tenure.v1.ListPoolResponse> getListPoolMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ListPoolRequest, io.tenure.v1.ListPoolResponse> getListPoolMethod;
    if ((getListPoolMethod = PoolServiceGrpc.getListPoolMethod) == null) {
      synchronized (PoolServiceGrpc.class) {
        if ((getListPoolMethod = PoolServiceGrpc.getListPoolMethod) == null) {
          PoolServiceGrpc.getListPoolMethod = getListPoolMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ListPoolRequest, io.tenure.v1.ListPoolResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListPool"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListPoolRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ListPoolResponse.getDefaultInstance()))
              .setSchemaDescriptor(new PoolServiceMethodDescriptorSupplier("ListPool"))
              .build();
        }
      }
    }
    return getListPoolMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.ForceLeaveRequest,
      io.tenure.v1.ForceLeaveResponse> getForceLeaveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ForceLeave",
      requestType = io.tenure.v1.ForceLeaveRequest.class,
      responseType = io.tenure.v1.ForceLeaveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.v1.ForceLeaveRequest,
      io.tenure.v1.ForceLeaveResponse> getForceLeaveMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.ForceLeaveRequest, io.tenure.v1.ForceLeaveResponse> getForceLeaveMethod;
    if ((getForceLeaveMethod = PoolServiceGrpc.getForceLeaveMethod) == null) {
      synchronized (PoolServiceGrpc.class) {
        if ((getForceLeaveMethod = PoolServiceGrpc.getForceLeaveMethod) == null) {
          PoolServiceGrpc.getForceLeaveMethod = getForceLeaveMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.ForceLeaveRequest, io.tenure.v1.ForceLeaveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ForceLeave"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ForceLeaveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.ForceLeaveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new PoolServiceMethodDescriptorSupplier("ForceLeave"))
              .build();
        }
      }
    }
    return getForceLeaveMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static PoolServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<PoolServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<PoolServiceStub>() {
        @java.lang.Override
        public PoolServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new PoolServiceStub(channel, callOptions);
        }
      };
    return PoolServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static PoolServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<PoolServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<PoolServiceBlockingV2Stub>() {
        @java.lang.Override
        public PoolServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new PoolServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return PoolServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static PoolServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<PoolServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<PoolServiceBlockingStub>() {
        @java.lang.Override
        public PoolServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new PoolServiceBlockingStub(channel, callOptions);
        }
      };
    return PoolServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static PoolServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<PoolServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<PoolServiceFutureStub>() {
        @java.lang.Override
        public PoolServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new PoolServiceFutureStub(channel, callOptions);
        }
      };
    return PoolServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
   * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * ListPool lists the nodes of the pool as the member that answers sees them, in pages. Members can differ for a while.
     * In the modes warn and enforce, a member refuses with NO_LEADER when it would refuse a stale read.
     * Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    default void listPool(io.tenure.v1.ListPoolRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListPoolResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListPoolMethod(), responseObserver);
    }

    /**
     * <pre>
     * ForceLeave deregisters a node that has failed, as if it had left: its check liveness goes, and the sessions that are
     * bound to it end. The node goes as well, unless a session is bound to it otherwise. Errors: INVALID_ARGUMENT,
     * NODE_NOT_FOUND, COMPARE_FAILED if the node has not failed.
     * </pre>
     */
    default void forceLeave(io.tenure.v1.ForceLeaveRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ForceLeaveResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getForceLeaveMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service PoolService.
   * <pre>
   * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
   * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
   * </pre>
   */
  public static abstract class PoolServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return PoolServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service PoolService.
   * <pre>
   * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
   * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
   * </pre>
   */
  public static final class PoolServiceStub
      extends io.grpc.stub.AbstractAsyncStub<PoolServiceStub> {
    private PoolServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected PoolServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new PoolServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * ListPool lists the nodes of the pool as the member that answers sees them, in pages. Members can differ for a while.
     * In the modes warn and enforce, a member refuses with NO_LEADER when it would refuse a stale read.
     * Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public void listPool(io.tenure.v1.ListPoolRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ListPoolResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListPoolMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * ForceLeave deregisters a node that has failed, as if it had left: its check liveness goes, and the sessions that are
     * bound to it end. The node goes as well, unless a session is bound to it otherwise. Errors: INVALID_ARGUMENT,
     * NODE_NOT_FOUND, COMPARE_FAILED if the node has not failed.
     * </pre>
     */
    public void forceLeave(io.tenure.v1.ForceLeaveRequest request,
        io.grpc.stub.StreamObserver<io.tenure.v1.ForceLeaveResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getForceLeaveMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service PoolService.
   * <pre>
   * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
   * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
   * </pre>
   */
  public static final class PoolServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<PoolServiceBlockingV2Stub> {
    private PoolServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected PoolServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new PoolServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * ListPool lists the nodes of the pool as the member that answers sees them, in pages. Members can differ for a while.
     * In the modes warn and enforce, a member refuses with NO_LEADER when it would refuse a stale read.
     * Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListPoolResponse listPool(io.tenure.v1.ListPoolRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListPoolMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ForceLeave deregisters a node that has failed, as if it had left: its check liveness goes, and the sessions that are
     * bound to it end. The node goes as well, unless a session is bound to it otherwise. Errors: INVALID_ARGUMENT,
     * NODE_NOT_FOUND, COMPARE_FAILED if the node has not failed.
     * </pre>
     */
    public io.tenure.v1.ForceLeaveResponse forceLeave(io.tenure.v1.ForceLeaveRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getForceLeaveMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service PoolService.
   * <pre>
   * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
   * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
   * </pre>
   */
  public static final class PoolServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<PoolServiceBlockingStub> {
    private PoolServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected PoolServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new PoolServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * ListPool lists the nodes of the pool as the member that answers sees them, in pages. Members can differ for a while.
     * In the modes warn and enforce, a member refuses with NO_LEADER when it would refuse a stale read.
     * Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public io.tenure.v1.ListPoolResponse listPool(io.tenure.v1.ListPoolRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListPoolMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * ForceLeave deregisters a node that has failed, as if it had left: its check liveness goes, and the sessions that are
     * bound to it end. The node goes as well, unless a session is bound to it otherwise. Errors: INVALID_ARGUMENT,
     * NODE_NOT_FOUND, COMPARE_FAILED if the node has not failed.
     * </pre>
     */
    public io.tenure.v1.ForceLeaveResponse forceLeave(io.tenure.v1.ForceLeaveRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getForceLeaveMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service PoolService.
   * <pre>
   * PoolService shows the pool: members and agents that take part in gossip and watch each other, so that a machine that dies
   * is noticed within seconds. The leader acts on it by the check liveness of the node in the catalog.
   * </pre>
   */
  public static final class PoolServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<PoolServiceFutureStub> {
    private PoolServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected PoolServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new PoolServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * ListPool lists the nodes of the pool as the member that answers sees them, in pages. Members can differ for a while.
     * In the modes warn and enforce, a member refuses with NO_LEADER when it would refuse a stale read.
     * Errors: INVALID_ARGUMENT, PAGE_TOKEN_INVALID.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ListPoolResponse> listPool(
        io.tenure.v1.ListPoolRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListPoolMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * ForceLeave deregisters a node that has failed, as if it had left: its check liveness goes, and the sessions that are
     * bound to it end. The node goes as well, unless a session is bound to it otherwise. Errors: INVALID_ARGUMENT,
     * NODE_NOT_FOUND, COMPARE_FAILED if the node has not failed.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.v1.ForceLeaveResponse> forceLeave(
        io.tenure.v1.ForceLeaveRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getForceLeaveMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_LIST_POOL = 0;
  private static final int METHODID_FORCE_LEAVE = 1;

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
        case METHODID_LIST_POOL:
          serviceImpl.listPool((io.tenure.v1.ListPoolRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ListPoolResponse>) responseObserver);
          break;
        case METHODID_FORCE_LEAVE:
          serviceImpl.forceLeave((io.tenure.v1.ForceLeaveRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.v1.ForceLeaveResponse>) responseObserver);
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
          getListPoolMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ListPoolRequest,
              io.tenure.v1.ListPoolResponse>(
                service, METHODID_LIST_POOL)))
        .addMethod(
          getForceLeaveMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.v1.ForceLeaveRequest,
              io.tenure.v1.ForceLeaveResponse>(
                service, METHODID_FORCE_LEAVE)))
        .build();
  }

  private static abstract class PoolServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    PoolServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.PoolProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("PoolService");
    }
  }

  private static final class PoolServiceFileDescriptorSupplier
      extends PoolServiceBaseDescriptorSupplier {
    PoolServiceFileDescriptorSupplier() {}
  }

  private static final class PoolServiceMethodDescriptorSupplier
      extends PoolServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    PoolServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (PoolServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new PoolServiceFileDescriptorSupplier())
              .addMethod(getListPoolMethod())
              .addMethod(getForceLeaveMethod())
              .build();
        }
      }
    }
    return result;
  }
}
