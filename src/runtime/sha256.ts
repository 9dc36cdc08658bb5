import { hexOf } from './hex.ts';

/** The form of `sha256Digest`. */
export const sha256DigestPattern = /^sha256:[0-9a-f]{64}$/;

/** `sha256:` and the SHA-256 of `bytes` in lower-case hexadecimal. */
export async function sha256Digest(bytes: Uint8Array): Promise<string> {
  // Copied: Web Crypto takes no view of shared memory, which the parameter's type does not rule out.
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)));
  return `sha256:${hexOf(digest)}`;
}
