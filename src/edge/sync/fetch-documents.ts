import { readText } from '../../runtime/read-text.ts';
import {
  ReadError,
  type ServerDocument,
  type ServerDocuments,
} from '../../sync/documents/server-documents.ts';
import type { Fetch } from '../platform/fetch-transport.ts';

export interface FetchDocumentsOptions {
  readonly fetch: Fetch;
  /** `https://name:port`. */
  readonly origin: string;
  readonly bearerToken: string;
  /** Of one document, unpacked. Default 16 MiB: an isolate has 128 MiB for everything. */
  readonly maximumBytes?: number;
}

/** The documents of an API server that `fetch` reaches, read as an ordinary client. */
export function fetchDocuments(options: FetchDocumentsOptions): ServerDocuments {
  const { fetch: send, origin, bearerToken, maximumBytes = 16 * 1024 * 1024 } = options;

  async function read(
    path: string,
    accept: string,
    signal: AbortSignal | undefined,
  ): Promise<ServerDocument> {
    const response = await send(`${origin}${path}`, {
      headers: { accept, authorization: `Bearer ${bearerToken}`, 'user-agent': 'mixed-version-proxy-sync' },
      // Followed, it would take the token elsewhere.
      redirect: 'manual',
      ...(signal === undefined ? {} : { signal }),
    });
    const body = response.body === null ? '' : await readText(response.body, maximumBytes);
    if (body === undefined) throw new Error(`the response is larger than ${maximumBytes} bytes`);
    return { status: response.status, contentType: response.headers.get('content-type') ?? '', body };
  }

  return {
    async get(path, accept, signal) {
      try {
        return await read(path, accept, signal);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new ReadError('Unreachable', `${path.split('?', 1)[0]}: ${reason}`, { cause });
      }
    },
  };
}
