package io.tenure;

import io.grpc.Status;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/** Says for people why a member did not answer, as far as the network tells. */
final class Unreachable {
  static final String LATE = "no connection in time";
  static final String NO_API = "it does not serve Tenure's API: is this a peer port?";

  /** How grpc-java says that what came first was not HTTP/2. */
  private static final Pattern FIRST_BYTES =
      Pattern.compile("First received frame was not SETTINGS\\. Hex dump for first 5 bytes: ([0-9a-f]+)");
  private static final String HTTP = HexFormat.of().formatHex("HTTP".getBytes(StandardCharsets.US_ASCII));
  /** A TLS alert: what is said to whoever does not begin with TLS. */
  private static final String TLS_ALERT = "1503";

  private Unreachable() {}

  /** Whether what answers has no service of Tenure, as a member's peer port. */
  static boolean isNoApi(Status status) {
    return status.getCode() == Status.Code.UNIMPLEMENTED
        && status.getDescription() != null && status.getDescription().startsWith("unknown service ");
  }

  /** Returns why a call to a member failed, in a few words. */
  static String why(Throwable error) {
    for (Throwable t = error; t != null; t = t.getCause()) {
      String known = known(t, String.valueOf(t.getMessage()));
      if (!known.isEmpty()) {
        return known;
      }
    }
    Status status = Status.fromThrowable(error);
    if (isNoApi(status)) {
      return NO_API;
    }
    return switch (status.getCode()) {
      case DEADLINE_EXCEEDED -> "no answer in time";
      default -> status.getDescription() == null
          ? status.getCode().name() : status.getDescription().lines().findFirst().orElse("");
    };
  }

  private static String known(Throwable t, String message) {
    if (t instanceof ConnectException) {
      return message.contains("refused") ? "connection refused" : message;
    }
    if (t instanceof UnknownHostException) {
      return "its name is not known";
    }
    Matcher first = FIRST_BYTES.matcher(message);
    if (first.find()) {
      String bytes = first.group(1);
      return bytes.startsWith(HTTP) ? "it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default"
          : bytes.startsWith(TLS_ALERT) ? "it demands TLS: use tenures://" : "it does not speak HTTP/2";
    }
    if (t instanceof SSLException) {
      return message.startsWith("not an SSL/TLS record") ? "it has no TLS: use tenure://" : "TLS failed: " + message;
    }
    return "";
  }
}
