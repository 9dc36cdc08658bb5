/**
 * Whether a text can stand in an Authorization header as a bearer token. What a message says of one that cannot never
 * quotes it: it may be another secret, taken for a token by mistake.
 */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
