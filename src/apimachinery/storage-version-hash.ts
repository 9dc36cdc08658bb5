/**
 * The form of `storageVersionHash` in classic discovery: eight bytes in base64 (k8s.io/apiserver
 * pkg/endpoints/discovery/storageversionhash.go).
 */
export const storageVersionHashPattern = /^[A-Za-z0-9+/]{11}=$/;

/**
 * The `storageVersionHash` that API servers write for a resource: the first eight bytes of the SHA-256 of
 * `group/version/kind` of the version in which its objects are stored, in base64. The legacy group is empty.
 */
export async function storageVersionHash(group: string, version: string, kind: string): Promise<string> {
  const text = new TextEncoder().encode(`${group}/${version}/${kind}`);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', text)).subarray(0, 8).toBase64();
}
