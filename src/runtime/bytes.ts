/** @throws {SyntaxError} for what is not base64url (RFC 4648 section 5) */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
}

export const sha256DigestPattern = /^sha256:[0-9a-f]{64}$/;

export async function sha256Digest(bytes: Uint8Array): Promise<string> {
  // Copied: Web Crypto takes no view of shared memory, which the parameter's type does not rule out.
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes)));
  return `sha256:${digest.toHex()}`;
}

/** Counts bytes that are held in memory. */
export interface ByteCount {
  add(bytes: number): void;
}

/** Reads a body as UTF-8 text; `undefined`, with the rest unread, when it is longer than `limit` bytes. */
export async function readText(body: ReadableStream<Uint8Array>, limit: number): Promise<string | undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let length = 0;
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.byteLength;
    if (length > limit) {
      await reader.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
