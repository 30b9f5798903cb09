package io.tenure.internal.line;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.OneofDescriptor;
import com.google.protobuf.Message;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.tenure.v1.LineAnswer;
import io.tenure.v1.LineCall;
import io.tenure.v1.LinePart;
import io.tenure.v1.LineStatus;
import java.util.HashMap;
import java.util.Map;

/** A call that a {@link LineStream} carries. What it is told, it is told on the loop. */
abstract class CarriedCall {
  /** How large a request may be; a larger one is made by itself, as it would hold up others. */
  static final int BYTES_MAX = 64 << 10;

  /** A kind of call that lines carry: the fields of its request, and of its response or parts. */
  record Verb(FieldDescriptor request, FieldDescriptor response) {
    /** Whether it waits for a lock, as opposed to a watch. */
    boolean isWait() {
      return response.getNumber() == LinePart.ACQUIRE_LOCK_FIELD_NUMBER || response.getNumber() == LinePart.CAMPAIGN_FIELD_NUMBER;
    }
  }

  /** Those with one answer, by the bare name of the RPC. */
  static final Map<String, Verb> SINGLE = verbs(LineAnswer.getDescriptor().getOneofs().get(0));
  /** Those with parts. */
  static final Map<String, Verb> LONG = verbs(LinePart.getDescriptor().getOneofs().get(0));

  final Verb verb;
  final String token;
  /** Of the request, as far as it counts for the line; zero once it no longer does. */
  int bytes;
  /** Zero: not sent. */
  long number;
  private Message request;

  CarriedCall(Verb verb, Message request, String token) {
    this.verb = verb;
    this.request = request;
    this.token = token;
    this.bytes = request.getSerializedSize();
  }

  private static Map<String, Verb> verbs(OneofDescriptor responses) {
    Map<String, Verb> all = new HashMap<>();
    for (FieldDescriptor response : responses.getFields()) {
      FieldDescriptor request = LineCall.getDescriptor().findFieldByName(response.getName());
      String type = request.getMessageType().getName();
      all.put(type.substring(0, type.length() - "Request".length()), new Verb(request, response));
    }
    return all;
  }

  /** Returns the error of a status on a line. */
  static StatusRuntimeException error(LineStatus s) {
    return StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
        .setCode(s.getCode()).setMessage(s.getMessage()).addAllDetails(s.getDetailsList()).build());
  }

  /** Puts it into a message that is sent. The request is needed no more then: the call may be there for days. */
  void fill(LineCall.Builder asked) {
    asked.setField(verb.request(), request);
    request = null;
  }

  /** Whether it is a wait or a watch, which has parts. */
  abstract boolean isLong();

  /** Whether its caller no longer waits for it. */
  abstract boolean isOver();

  /** Takes a message of a call with parts. */
  abstract void part(Message m);

  /** Takes the answer. */
  abstract void answer(LineAnswer a);

  abstract void fail(StatusRuntimeException why);

  /** The line ended before anything was done. */
  abstract void undone(StatusRuntimeException why);
}
