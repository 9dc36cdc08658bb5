/**
 * The IDs that the identity Lease of a kube-apiserver on a host can have: those of 1.28 and later, then those of 1.26
 * and 1.27. An ID does not show how its hash was made, so each form is given with both hashes. 1.25 makes a random ID
 * for each process, which no host name leads to.
 *
 * @param hostname host name of the server's operating system, not resolved and not shortened
 *
 * @example
 * ```ts
 * const ids = await serverIdsOf('control-plane-1');
 * console.log(ids.every((id) => id.startsWith('kube-apiserver-') || id.startsWith('apiserver-'))); // true
 * ```
 */
export async function serverIdsOf(hostname: string): Promise<readonly string[]> {
  const host = new TextEncoder().encode(hostname);
  const [newer, older] = await Promise.all([
    // k8s.io/apiserver pkg/server/config.go: host name and role, each behind its length in two bytes.
    hash([...lengthPrefixed(host), ...lengthPrefixed(new TextEncoder().encode('kube-apiserver'))]),
    // As in the Leases of 1.26 in test/fixtures.
    hash([...host]),
  ]);
  return [`apiserver-${newer}`, `kube-apiserver-${newer}`, `kube-apiserver-${older}`, `apiserver-${older}`];
}

function lengthPrefixed(bytes: Uint8Array): readonly number[] {
  return [bytes.length >> 8, bytes.length & 0xff, ...bytes];
}

/** The first 16 bytes of the SHA-256, in base32. */
async function hash(input: readonly number[]): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(input));
  return base32(new Uint8Array(digest, 0, 16));
}

/** RFC 4648 section 6, in lower case and without padding. */
function base32(bytes: Uint8Array): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >> bits) & 31];
    }
  }
  return bits === 0 ? text : text + alphabet[(value << (5 - bits)) & 31];
}
