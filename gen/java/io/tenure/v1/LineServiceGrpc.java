package io.tenure.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
 * of the same name does, with the same errors and limits, and takes less work at both ends.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class LineServiceGrpc {

  private LineServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.LineService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.v1.LineRequest,
      io.tenure.v1.LineResponse> getLineMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Line",
      requestType = io.tenure.v1.LineRequest.class,
      responseType = io.tenure.v1.LineResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.v1.LineRequest,
      io.tenure.v1.LineResponse> getLineMethod() {
    io.grpc.MethodDescriptor<io.tenure.v1.LineRequest, io.tenure.v1.LineResponse> getLineMethod;
    if ((getLineMethod = LineServiceGrpc.getLineMethod) == null) {
      synchronized (LineServiceGrpc.class) {
        if ((getLineMethod = LineServiceGrpc.getLineMethod) == null) {
          LineServiceGrpc.getLineMethod = getLineMethod =
              io.grpc.MethodDescriptor.<io.tenure.v1.LineRequest, io.tenure.v1.LineResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Line"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.LineRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.v1.LineResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LineServiceMethodDescriptorSupplier("Line"))
              .build();
        }
      }
    }
    return getLineMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static LineServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LineServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LineServiceStub>() {
        @java.lang.Override
        public LineServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LineServiceStub(channel, callOptions);
        }
      };
    return LineServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static LineServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LineServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LineServiceBlockingV2Stub>() {
        @java.lang.Override
        public LineServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LineServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return LineServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static LineServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LineServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LineServiceBlockingStub>() {
        @java.lang.Override
        public LineServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LineServiceBlockingStub(channel, callOptions);
        }
      };
    return LineServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static LineServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LineServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LineServiceFutureStub>() {
        @java.lang.Override
        public LineServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LineServiceFutureStub(channel, callOptions);
        }
      };
    return LineServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
   * of the same name does, with the same errors and limits, and takes less work at both ends.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Carries calls and their answers, many in a message, until the client closes its side or the member stops. Answers
     * come in any order. When a line breaks, the outcome of calls without an answer is unknown, as when a connection does.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.tenure.v1.LineRequest> line(
        io.grpc.stub.StreamObserver<io.tenure.v1.LineResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getLineMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service LineService.
   * <pre>
   * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
   * of the same name does, with the same errors and limits, and takes less work at both ends.
   * </pre>
   */
  public static abstract class LineServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return LineServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service LineService.
   * <pre>
   * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
   * of the same name does, with the same errors and limits, and takes less work at both ends.
   * </pre>
   */
  public static final class LineServiceStub
      extends io.grpc.stub.AbstractAsyncStub<LineServiceStub> {
    private LineServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LineServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LineServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Carries calls and their answers, many in a message, until the client closes its side or the member stops. Answers
     * come in any order. When a line breaks, the outcome of calls without an answer is unknown, as when a connection does.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.tenure.v1.LineRequest> line(
        io.grpc.stub.StreamObserver<io.tenure.v1.LineResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getLineMethod(), getCallOptions()), responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service LineService.
   * <pre>
   * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
   * of the same name does, with the same errors and limits, and takes less work at both ends.
   * </pre>
   */
  public static final class LineServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<LineServiceBlockingV2Stub> {
    private LineServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LineServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LineServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Carries calls and their answers, many in a message, until the client closes its side or the member stops. Answers
     * come in any order. When a line breaks, the outcome of calls without an answer is unknown, as when a connection does.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.tenure.v1.LineRequest, io.tenure.v1.LineResponse>
        line() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getLineMethod(), getCallOptions());
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service LineService.
   * <pre>
   * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
   * of the same name does, with the same errors and limits, and takes less work at both ends.
   * </pre>
   */
  public static final class LineServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<LineServiceBlockingStub> {
    private LineServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LineServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LineServiceBlockingStub(channel, callOptions);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service LineService.
   * <pre>
   * LineService carries many calls on one stream. It is for client libraries: a call on a line does exactly what the RPC
   * of the same name does, with the same errors and limits, and takes less work at both ends.
   * </pre>
   */
  public static final class LineServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<LineServiceFutureStub> {
    private LineServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LineServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LineServiceFutureStub(channel, callOptions);
    }
  }

  private static final int METHODID_LINE = 0;

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
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_LINE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.line(
              (io.grpc.stub.StreamObserver<io.tenure.v1.LineResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getLineMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.tenure.v1.LineRequest,
              io.tenure.v1.LineResponse>(
                service, METHODID_LINE)))
        .build();
  }

  private static abstract class LineServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    LineServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.v1.LineProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("LineService");
    }
  }

  private static final class LineServiceFileDescriptorSupplier
      extends LineServiceBaseDescriptorSupplier {
    LineServiceFileDescriptorSupplier() {}
  }

  private static final class LineServiceMethodDescriptorSupplier
      extends LineServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    LineServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (LineServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new LineServiceFileDescriptorSupplier())
              .addMethod(getLineMethod())
              .build();
        }
      }
    }
    return result;
  }
}
