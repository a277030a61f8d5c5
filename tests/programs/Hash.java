// SPDX-License-Identifier: GPL-2.0-or-later
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;

/* Hashing in threads, with enough garbage for several collections. */
public class Hash {
	static String hash(int seed) throws Exception {
		MessageDigest md = MessageDigest.getInstance("SHA-256");
		HashMap<String, byte[]> map = new HashMap<>();
		for (int i = 0; i < 60000; i++) {
			byte[] b = new byte[64 + (i * seed) % 512];
			b[0] = (byte) i;
			map.put("k" + (i % 5000), b);
			md.update(b);
		}
		int sum = 0;
		for (byte[] b : map.values())
			sum += b.length;
		md.update((byte) sum);
		StringBuilder s = new StringBuilder();
		for (byte x : md.digest())
			s.append(String.format("%02x", x));
		return s.toString();
	}

	public static void main(String[] args) throws Exception {
		String[] results = new String[4];
		List<Thread> threads = new ArrayList<>();
		for (int i = 0; i < 4; i++) {
			final int n = i;
			Thread t = new Thread(() -> {
				try {
					results[n] = hash(n + 1);
				} catch (Exception e) {
					results[n] = e.toString();
				}
			});
			threads.add(t);
			t.start();
		}
		for (Thread t : threads)
			t.join();
		System.gc();
		for (String r : results)
			System.out.println(r);
	}
}
