package io.tenure.internal.line;

import io.grpc.Status;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/** Says for people why a member did not answer, as far as the network tells. */
public final class Unreachable {
  static final String LATE = "no connection in time";
  static final String NO_API = "it does not serve Tenure's API: is this a peer port?";

  /** How grpc-java says that what came first was not HTTP/2. */
  private static final Pattern FIRST_BYTES =
      Pattern.compile("First received frame was not SETTINGS\\. Hex dump for first 5 bytes: ([0-9a-f]+)");
  private static final String HTTP = HexFormat.of().formatHex("HTTP".getBytes(StandardCharsets.US_ASCII));
  /** A TLS alert: what is said to whoever does not begin with TLS. */
  private static final String TLS_ALERT = "1503";

  static final String TLS = "TLS failed: ";
  private static final String UNKNOWN_CA = TLS
      + "its certificate is not signed by a trusted authority: set ca_file to the certificate of the one that signed it";
  private static final String OTHER_NAME =
      TLS + "its certificate is for another name: connect by a name that it has, or set server_name";
  private static final String OUT_OF_DATE =
      TLS + "its certificate has expired or is not valid yet: renew it, and check the clocks";
  private static final String WANTS_CERT = TLS + "it demands a client certificate: set cert_file and key_file";
  private static final String REFUSES =
      TLS + "it refuses the client certificate: check who signed cert_file, and that it has not expired";
  private static final String MAY_WANT_CERT =
      "it closed the connection: if it demands a client certificate, set cert_file and key_file";
  /** What a member says that refuses a client's certificate, or the want of one. */
  private static final Pattern REFUSAL = Pattern.compile(
      "alert.*(certificate|unknown.?ca|access.?denied)", Pattern.CASE_INSENSITIVE);

  private Unreachable() {}

  /** Whether a certificate is to blame that a call failed. */
  static boolean certificate(Throwable error) {
    return !certificate(error, false).isEmpty();
  }

  /** Returns what is wrong with a certificate; empty if nothing is known of that. */
  private static String certificate(Throwable error, boolean sends) {
    String found = "";
    for (Throwable t = error; t != null; t = t.getCause()) {
      String message = String.valueOf(t.getMessage());
      if (t instanceof CertificateExpiredException || t instanceof CertificateNotYetValidException) {
        return OUT_OF_DATE;
      }
      if (t instanceof CertificateException && message.matches("(?s)No (subject alternative|name matching).*")) {
        return OTHER_NAME;
      }
      if (t instanceof CertificateException || t instanceof CertPathBuilderException) {
        found = UNKNOWN_CA;
      } else if (t instanceof SSLException && REFUSAL.matcher(message).find()) {
        found = sends ? REFUSES : WANTS_CERT;
      }
    }
    return found;
  }

  /** Returns why a call to a member failed, in a few words, by what is known of how it was connected to. */
  public static String why(Throwable error, Door door) {
    String certificate = certificate(error, door.sendsCertificate());
    if (!certificate.isEmpty()) {
      return certificate;
    }
    String why = why(error);
    return door.tls && why.contains("end of stream") ? MAY_WANT_CERT : why;
  }

  /** Whether what answers has no service of Tenure, as a member's peer port. */
  static boolean isNoApi(Status status) {
    return status.getCode() == Status.Code.UNIMPLEMENTED
        && status.getDescription() != null && status.getDescription().startsWith("unknown service ");
  }

  /** Returns why a call to a member failed, in a few words. */
  public static String why(Throwable error) {
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
      return message.startsWith("not an SSL/TLS record") ? "it has no TLS: use tenure://" : TLS + message;
    }
    return "";
  }
}
