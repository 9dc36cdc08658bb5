import { headerLines, rawHeadersOf } from '../../../src/apimachinery/raw-headers.ts';
import { ByteReader } from './byte-reader.ts';
import type { ClientRequest, Exchange, StreamedAnswer, WireClient } from './exchange.ts';

export type Fetch = (request: Request, original: ClientRequest) => Promise<Response>;

/**
 * Calls a fetch handler without any connection. What `Request` cannot carry is lost: repeated header lines are
 * joined, and its URL parser resolves dot segments.
 */
export function fetchClient(fetch: Fetch, origin = 'https://router.example'): WireClient {
  return { send: (request) => send(fetch, origin, request), close: async () => {} };
}

function send(fetch: Fetch, origin: string, request: ClientRequest): Exchange {
  const { method = 'GET', target, headers = [], body, streamed = false } = request;
  const controller = new AbortController();
  const upload = streamed ? new TransformStream<Uint8Array, Uint8Array>() : undefined;
  const writer = upload?.writable.getWriter();
  const lines = new Headers();
  for (const [name, value] of headerLines(headers)) lines.append(name, value);
  // A server would have seen one of these; the handler asks them whether there is a body.
  if (body !== undefined) lines.set('content-length', String(Buffer.byteLength(body)));
  if (streamed) lines.set('transfer-encoding', 'chunked');
  const web = new Request(`${origin}${target}`, {
    method,
    headers: lines,
    signal: controller.signal,
    ...(body === undefined ? {} : { body }),
    ...(upload === undefined ? {} : { body: upload.readable, duplex: 'half' }),
  });
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const answer = fetch(web, request).then((response): StreamedAnswer => {
    const bytes = new ByteReader();
    reader = response.body?.getReader();
    if (reader === undefined) bytes.end();
    else void drain(reader, bytes);
    return { status: response.status, headers: rawHeadersOf(response.headers), body: bytes };
  });
  // A case that disconnects does not look at the response any more.
  answer.catch(() => {});
  return {
    answer,
    interim: [],
    // A failed upload shows in the response.
    write: (bytes) => void writer?.write(Buffer.from(bytes, 'latin1')).catch(() => {}),
    end: () => void writer?.close().catch(() => {}),
    disconnect() {
      controller.abort();
      void reader?.cancel().catch(() => {});
    },
  };
}

async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, bytes: ByteReader): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes.push(value);
    }
    bytes.end();
  } catch {
    bytes.breakOff();
  }
}
