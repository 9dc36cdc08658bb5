import { base64url } from 'jose';

/** 128 random bits, in base64url: unique without any bookkeeping, and not to be guessed. */
export function randomNonce(): string {
  return base64url.encode(crypto.getRandomValues(new Uint8Array(16)));
}
