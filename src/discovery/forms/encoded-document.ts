/** API servers compress what is longer than this (k8s.io/apiserver, responsewriters/writers.go). In bytes. */
const gzipThreshold = 128 * 1024;

/**
 * A document, ready to be sent any number of times: bytes and ETag are made once.
 *
 * No promise is kept for others to wait on. On Workers a promise belongs to the request that made it, and
 * one that is broken off would leave every later request waiting; at worst two requests do the same work.
 */
export class EncodedDocument {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly #hashed: Uint8Array<ArrayBuffer>;
  #etag: string | undefined;
  #gzipped: Uint8Array<ArrayBuffer> | undefined;

  /** @param hashed what the ETag is made of; default: the body */
  constructor(body: Uint8Array<ArrayBuffer>, hashed = body) {
    this.body = body;
    this.#hashed = hashed;
  }

  /** The SHA-512 of the document in upper-case hexadecimal, quoted (upstream etag.go). */
  async etag(): Promise<string> {
    this.#etag ??= `"${upperHex(await crypto.subtle.digest('SHA-512', this.#hashed))}"`;
    return this.#etag;
  }

  /** The body with gzip, or `undefined` when it is too short to be worth it. */
  async gzipped(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.body.byteLength <= gzipThreshold) return undefined;
    this.#gzipped ??= await gzip(this.body);
    return this.#gzipped;
  }
}

/**
 * Writes JSON as API servers do.
 *
 * @param value what to write; members that are `undefined` are left out
 * @param pretty indented, as `?pretty=true` asks for
 */
export function jsonDocument(value: object, pretty: boolean): EncodedDocument {
  // Go's encoder ends a document with a line feed; its ETag is made without it.
  const body = new TextEncoder().encode(`${JSON.stringify(value, null, pretty ? 2 : 0)}\n`);
  return new EncodedDocument(body, body.subarray(0, -1));
}

export async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const compressed = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

function upperHex(digest: ArrayBuffer): string {
  let hex = '';
  for (const byte of new Uint8Array(digest)) hex += byte.toString(16).padStart(2, '0');
  return hex.toUpperCase();
}
