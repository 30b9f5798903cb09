import io.tenure.Client;
import io.tenure.TenureException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Puts all the time with one client of the Java library, for {@code bench -workloads outage}.
 *
 * <p>{@code java -cp CLASSPATH Puts.java CONNECTION CALLERS}: CALLERS threads share the client. Each put that succeeds prints when it began, and each that
 * fails prints "failed". The time is in nanoseconds since the Unix epoch, by this machine's clock. The program works until it is killed.
 */
public class Puts {
  public static void main(String[] args) throws InterruptedException {
    int callers = Integer.parseInt(args[1]);
    try (Client client = Client.connect(args[0])) {
      Thread[] threads = new Thread[callers];
      for (int i = 0; i < callers; i++) {
        String key = "bench/outage/" + i;
        threads[i] = new Thread(() -> put(client, key));
        threads[i].start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }
  }

  private static void put(Client client, String key) {
    while (!System.out.checkError()) {
      long began = ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now());
      String line = Long.toString(began);
      try {
        client.kv().put(key, "v");
      } catch (TenureException e) {
        line = "failed";
      }
      System.out.println(line);
    }
  }
}
