/**
 * True if a text can stand in an Authorization header as a bearer token. A message about a text that cannot never
 * quotes it: the text may be another secret, taken for a token by mistake.
 */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
