/**
 * The form of `storageVersionHash` in classic discovery: eight bytes in base64 (k8s.io/apiserver
 * pkg/endpoints/discovery/storageversionhash.go).
 */
export const storageVersionHashPattern = /^[A-Za-z0-9+/]{11}=$/;

/**
 * What API servers write as `storageVersionHash` of a resource: the first eight bytes of the SHA-256 of
 * `group/version/kind` of the version in which its objects are stored, in base64. The legacy group is empty.
 */
export function storageVersionHash(group: string, version: string, kind: string): Promise<string> {
  return eightByteHash(`${group}/${version}/${kind}`);
}

/** The first eight bytes of the SHA-256 of a text, in base64. */
export async function eightByteHash(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...digest.subarray(0, 8)));
}
