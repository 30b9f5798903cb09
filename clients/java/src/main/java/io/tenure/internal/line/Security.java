package io.tenure.internal.line;

import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannelBuilder;
import io.tenure.Applied;
import io.tenure.ConnectionString;
import io.tenure.ErrorKind;
import io.tenure.TenureException;
import io.tenure.internal.Exceptions;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * What one place says about TLS and the token: the builder of a client, the connection string or the environment. What is empty
 * it leaves to the next place.
 *
 * @param texts by the name that it has in a connection string; a file is its path
 * @param token the text of a token; empty for none
 * @param source what returns a token; null for none
 * @param credentials of gRPC, in place of files; null for none
 * @param interceptors of every connection
 * @param channel changes how connections are made
 */
public record Security(
    Map<String, String> texts,
    String token,
    Supplier<String> source,
    ChannelCredentials credentials,
    List<ClientInterceptor> interceptors,
    Consumer<ManagedChannelBuilder<?>> channel) {
  public static final String CA = "ca_file";
  public static final String CERT = "cert_file";
  public static final String KEY = "key_file";
  public static final String SERVER_NAME = "server_name";
  public static final String TOKEN_FILE = "token_file";
  public static final String INSECURE = "insecure";

  public static final Security NONE = new Security(Map.of(), "", null, null, List.of(), b -> { });

  /** The numbers of this machine; no name is looked up for them. */
  private static final Pattern NUMBERS = Pattern.compile("[0-9.]+|\\[[0-9A-Fa-f:.%]+]");

  public static Security of(Map<String, String> texts) {
    return new Security(texts, "", null, null, List.of(), b -> { });
  }

  /** Returns what the environment says. */
  public static Security of(Map<String, String> environment, boolean files) {
    Map<String, String> texts = new HashMap<>();
    for (String name : List.of(CA, CERT, KEY, SERVER_NAME, TOKEN_FILE)) {
      String value = environment.getOrDefault("TENURE_" + name.toUpperCase(Locale.ROOT), "");
      if (!value.isEmpty() && (files || name.equals(TOKEN_FILE))) {
        texts.put(name, value);
      }
    }
    return new Security(texts, environment.getOrDefault("TENURE_TOKEN", ""), null, null, List.of(), b -> { });
  }

  String text(String name) {
    return texts.getOrDefault(name, "");
  }

  boolean insecure() {
    return text(INSECURE).equals("true");
  }

  /** Returns how many tokens there are to choose from. */
  int tokens() {
    return (token.isEmpty() ? 0 : 1) + (source == null ? 0 : 1) + (text(TOKEN_FILE).isEmpty() ? 0 : 1);
  }

  /** Whether any file or name of TLS is given. */
  boolean files() {
    return !(text(CA) + text(CERT) + text(KEY) + text(SERVER_NAME)).isEmpty();
  }

  /** Returns this, and where it says nothing what the next place says. A certificate with its key, and a token, come from one place. */
  public Security or(Security next) {
    Map<String, String> all = new HashMap<>(texts);
    for (String name : List.of(CA, SERVER_NAME)) {
      all.putIfAbsent(name, next.text(name));
    }
    if (text(CERT).isEmpty() && text(KEY).isEmpty()) {
      all.put(CERT, next.text(CERT));
      all.put(KEY, next.text(KEY));
    }
    boolean own = tokens() > 0;
    if (!own) {
      all.put(TOKEN_FILE, next.text(TOKEN_FILE));
    }
    if (next.insecure()) {
      all.put(INSECURE, "true");
    }
    all.values().removeIf(String::isEmpty);
    return new Security(
        Map.copyOf(all), own ? token : next.token, own ? source : next.source, credentials, interceptors, channel);
  }

  /** Names what asks for TLS; empty if nothing does. */
  public String asksForTls() {
    if (credentials != null) {
      return "credentials";
    }
    if (!text(CA).isEmpty()) {
      return "a CA (ca_file, TENURE_CA_FILE)";
    }
    if (!(text(CERT) + text(KEY)).isEmpty()) {
      return "a certificate (cert_file, TENURE_CERT_FILE)";
    }
    return text(SERVER_NAME).isEmpty() ? "" : "a server name (server_name, TENURE_SERVER_NAME)";
  }

  /** Returns whether connections are with TLS. Throws where things do not go together. */
  public boolean decide(ConnectionString at) {
    boolean tls = at.tls() || !asksForTls().isEmpty();
    if (credentials != null && files()) {
      throw refused("credentials and files or a server name of TLS exclude each other");
    }
    if (tls && at.scheme().equals(Optional.of("tenure"))) {
      throw refused("the connection string starts with tenure://, which means no TLS, but " + asksForTls()
          + " is given: use tenures://");
    }
    if (text(CERT).isEmpty() != text(KEY).isEmpty()) {
      throw refused(
          "a certificate needs its key: cert_file and key_file (TENURE_CERT_FILE and TENURE_KEY_FILE) go together");
    }
    if (tokens() > 1) {
      throw refused(
          "there is more than one token: give it by text, by file (TENURE_TOKEN or TENURE_TOKEN_FILE) or by a source");
    }
    if (tls && insecure()) {
      throw refused("insecure=true is for connections without TLS; with TLS nothing skips verification");
    }
    for (String member : at.members()) {
      if (tokens() > 0 && !tls && !insecure() && !local(member)) {
        throw refused("the token is not sent to " + member
            + " without TLS: use tenures://, or insecure=true if the network may read it");
      }
    }
    return tls;
  }

  /** Whether host:port is surely on this machine. */
  static boolean local(String address) {
    String host = address.substring(0, Math.max(0, address.lastIndexOf(':')));
    if (host.equalsIgnoreCase("localhost")) {
      return true;
    }
    try {
      return NUMBERS.matcher(host).matches() && InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException e) {
      return false;
    }
  }

  private static TenureException refused(String why) {
    return Exceptions.of(ErrorKind.INVALID_ARGUMENT, Applied.NO, why);
  }
}
