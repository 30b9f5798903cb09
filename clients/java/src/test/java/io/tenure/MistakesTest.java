package io.tenure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tenure.internal.Exceptions;
import io.tenure.internal.Namespace;
import io.tenure.internal.Wire;
import io.tenure.testing.TenureServer;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** What a program is told that makes a mistake: what was wrong, in words that its author knows. */
@Timeout(240)
class MistakesTest {
  private static void isNamed(String parameter, Executable call) {
    assertEquals(parameter, assertThrows(NullPointerException.class, call).getMessage());
  }

  @Test
  void aNullIsNamed() throws Exception {
    isNamed("connectionString", () -> Client.connect((String) null));
    try (TenureServer server = TenureServer.start(); Client client = Client.connect(server.uri());
        Session session = client.openSession()) {
      isNamed("key", () -> client.kv().get(null));
      isNamed("value", () -> client.kv().put("k", (byte[]) null));
      isNamed("value", () -> client.kv().put("k", (String) null));
      isNamed("key", () -> session.lock(null));
      isNamed("wait", () -> session.lock("k").acquire(null));
    }
  }

  @Test
  void aHoldThatEndedSaysWhy() throws Exception {
    try (TenureServer server = TenureServer.start(); Client client = Client.connect(server.uri());
        Session session = client.openSession(SessionOptions.defaults().withTtl(Duration.ofHours(1)))) {
      Held held = session.lock("k").acquire();
      held.check();
      held.release();
      TenureException e = assertThrows(TenureException.StaleToken.class, held::check);
      assertEquals("lock k is not held: it was released", e.getMessage());
    }
  }

  @Test
  void anErrorShowsItsKind() {
    TenureException e = Exceptions.of(ErrorKind.MODE_MISMATCH, Applied.NO, "lock k is in use");
    assertEquals("io.tenure.TenureException: lock k is in use [MODE_MISMATCH]", e.toString());
    e = Exceptions.of(ErrorKind.OUTCOME_UNKNOWN, Applied.UNKNOWN, "no answer", Map.of(), null);
    assertTrue(e.toString().endsWith("no answer [OUTCOME_UNKNOWN, applied: UNKNOWN]"), e.toString());
  }

  @Test
  void anEmptyMemberIsShown() {
    TenureException e = assertThrows(TenureException.class, () -> Client.connect("h1:7400,"));
    assertTrue(e.getMessage().contains("member \"\" is not host:port"), e.getMessage());
  }

  @Test
  void timesAreInSeconds() {
    assertEquals("2 s", Wire.text(Duration.ofSeconds(2)));
    assertEquals("0.25 s", Wire.text(Duration.ofMillis(250)));
    assertEquals("90 s", Wire.text(Duration.ofSeconds(90)));
    assertEquals("100 s", Wire.text(Duration.ofSeconds(100)));
  }

  @Test
  void objectsShowTheirKeys() throws Exception {
    try (Client client = Client.connect("tenure://127.0.0.1:1,127.0.0.1:2/app")) {
      assertEquals("Client[127.0.0.1:1,127.0.0.1:2/app]", client.toString());
      assertEquals("Election[k]", client.election("k").toString());
    }
    KeyValue kv = Wire.keyValue(io.tenure.v1.KeyValue.newBuilder().setKey("k").setModRevision(7).build(), new Namespace("", ""));
    assertEquals("KeyValue[k, 0 bytes, modRevision 7]", kv.toString());
  }
}
