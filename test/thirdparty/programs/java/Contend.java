import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Uses a Java library made for Consul: Contend NAME ADDRESS FOLDER tour|contend. tour makes each call once and ends. contend is a loop of Consul's guide
 * to leader election: it acquires a key, notes in FOLDER that it is in, leaves and releases, and prints a line for each time; it runs until it is ended.
 */
final class Contend {
  private static final long INSIDE_MS = 20;
  private static final long PAUSE_MS = 50;
  private static final long RETRY_MS = 300;

  public static void main(String[] args) throws Exception {
    String[] address = args[1].split(":");
    Library library = new Used(address[0], Integer.parseInt(address[1]));
    if (args[3].equals("tour")) {
      library.tour("tour-" + args[0]);
      System.out.println("toured");
      System.exit(0);
    }
    String key = "thirdparty/leader/" + args[0];
    Path place = Path.of(args[2], "0");
    String session = null;
    while (true) {
      try {
        if (session == null) {
          session = library.create();
        }
        library.renew(session);
        if (!library.acquire(key, session)) {
          library.await(key);
          continue;
        }
        try {
          Files.createDirectory(place);
        } catch (FileAlreadyExistsException e) {
          System.out.println("two are in");
          System.exit(1);
        }
        Thread.sleep(INSIDE_MS);
        Files.delete(place);
        if (!library.release(key, session)) {
          session = null; // It was lost, and so was the session.
        }
        System.out.println("in");
        Thread.sleep(PAUSE_MS);
      } catch (RuntimeException e) { // Whatever the library makes of a member that is gone.
        String text = String.valueOf(e);
        System.out.println("failed: " + text);
        if (text.contains("404") || text.contains("not found") || text.contains("invalid session")) {
          session = null;
        }
        Thread.sleep(RETRY_MS);
      }
    }
  }
}
