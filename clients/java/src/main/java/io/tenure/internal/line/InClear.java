package io.tenure.internal.line;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors.CheckedForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.util.concurrent.Executor;

/**
 * Guards a connection without TLS to another machine: no call is made that shows a token, whichever interceptor gave the call that. It
 * has to see calls after all others.
 */
final class InClear implements ClientInterceptor {
  private final String why;

  InClear(String address) {
    why = "the token of the call is not sent to " + address + " without TLS: use tenures://, or insecure=true if the network may read it";
  }

  @Override
  public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
    CallCredentials own = options.getCredentials();
    return new CheckedForwardingClientCall<>(next.newCall(method, own == null ? options : options.withCallCredentials(new Guarded(own)))) {
      @Override
      protected void checkedStart(Listener<R> told, Metadata headers) {
        if (headers.containsKey(Token.HEADER)) {
          throw StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
              .setCode(Status.Code.FAILED_PRECONDITION.value()).setMessage(why)
              .addDetails(Any.pack(ErrorInfo.newBuilder()
                  .setDomain(Errors.DOMAIN).setReason("AUTH_UNSAFE").putMetadata("applied", "no").build()))
              .build());
        }
        delegate().start(told, headers);
      }
    };
  }

  /** Credentials of a call that fail rather than be a token in clear. */
  private final class Guarded extends CallCredentials {
    private final CallCredentials given;

    Guarded(CallCredentials given) {
      this.given = given;
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor on, MetadataApplier applier) {
      given.applyRequestMetadata(call, on, new MetadataApplier() {
        @Override
        public void apply(Metadata headers) {
          if (headers.containsKey(Token.HEADER)) {
            applier.fail(Status.UNAUTHENTICATED.withDescription(why)); // gRPC passes no other code on.
          } else {
            applier.apply(headers);
          }
        }

        @Override
        public void fail(Status status) {
          applier.fail(status);
        }
      });
    }
  }
}
