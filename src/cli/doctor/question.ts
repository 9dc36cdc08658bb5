/** One question to a server. */
export interface Question {
  readonly method: 'GET' | 'POST';
  /** A path. */
  readonly target: string;
  /** JSON. */
  readonly body?: string;
}

/** Milliseconds that a server may take to respond. */
export const responseTimeout = 5_000;

/** Bytes that a response may have. */
export const longestResponse = 1024 * 1024;

/** Header lines of a question: name, value, name, value, … */
export function questionHeaders({ body }: Question): readonly string[] {
  const headers = ['accept', 'application/json', 'user-agent', 'mixed-version-proxy'];
  if (body === undefined) return headers;
  const length = new TextEncoder().encode(body).byteLength;
  return [...headers, 'content-type', 'application/json', 'content-length', String(length)];
}
