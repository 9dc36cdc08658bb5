import { CodedError } from '../../runtime/coded-error.ts';
import { readText } from '../../runtime/read-text.ts';
import { parseJsonText } from '../../snapshot/format/json-text.ts';

/** The part of a `Response` that is used here. */
export interface DocumentResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
}

/** The part of `fetch` that is used here, so that a runtime can bring one that trusts a private authority. */
export type FetchDocument = (
  url: string,
  init: {
    readonly headers: Readonly<Record<string, string>>;
    readonly redirect: 'manual';
    readonly signal: AbortSignal;
  },
) => Promise<DocumentResponse>;

export type KeyLoadErrorCode =
  | 'Unreachable'
  | 'UnexpectedStatus'
  | 'RedirectRefused'
  | 'TooLarge'
  | 'InvalidDocument'
  /** The discovery document speaks for another issuer. */
  | 'IssuerMismatch';

/** Why the keys of an issuer could not be loaded. The message names the URL or file, never what it holds. */
export class KeyLoadError extends CodedError<KeyLoadErrorCode> {
  override readonly name = 'KeyLoadError';
}

/** Discovery documents have some KB, key sets rarely more than 20. */
const maximumBytes = 512 * 1024;
const maximumDepth = 32;
const maximumRedirects = 3;
const defaultTimeout = 10_000;

/**
 * Fetches a JSON document from an issuer.
 *
 * Redirects are followed within the origin only: the document decides which keys are trusted, and an open
 * redirect of the issuer would otherwise hand that to anyone.
 * @param timeout milliseconds for all of it, body and redirects included
 * @throws {KeyLoadError}
 */
export async function fetchJsonDocument(
  fetchDocument: FetchDocument,
  url: string,
  timeout: number = defaultTimeout,
): Promise<unknown> {
  const signal = AbortSignal.timeout(timeout);
  try {
    const response = await fetchWithinOrigin(fetchDocument, url, signal);
    const text = response.body === null ? '' : await readText(response.body, maximumBytes);
    if (text === undefined) {
      throw new KeyLoadError('TooLarge', `${url}: the response is larger than ${maximumBytes} bytes`);
    }
    const parsed = parseJsonText(text, maximumDepth);
    if (parsed.ok) return parsed.value;
  } catch (error) {
    if (error instanceof KeyLoadError) throw error;
    const why = signal.aborted ? `no whole response within ${timeout} ms` : 'no response';
    throw new KeyLoadError('Unreachable', `${url}: ${why}`, { cause: error });
  }
  throw new KeyLoadError('InvalidDocument', `${url}: the response is not JSON, or nested too deep`);
}

async function fetchWithinOrigin(
  fetchDocument: FetchDocument,
  url: string,
  signal: AbortSignal,
): Promise<DocumentResponse> {
  const { origin } = new URL(url);
  let target = url;
  for (let redirects = 0; redirects <= maximumRedirects; redirects++) {
    const response = await fetchDocument(target, {
      headers: { accept: 'application/json, application/jwk-set+json' },
      redirect: 'manual',
      signal,
    });
    if (response.status === 200) return response;
    await response.body?.cancel();
    if (![301, 302, 303, 307, 308].includes(response.status)) {
      throw new KeyLoadError(
        'UnexpectedStatus',
        `${url}: responded with status ${response.status} instead of 200`,
      );
    }
    const location = URL.parse(response.headers.get('location') ?? '', target);
    if (location === null || location.origin !== origin) {
      throw new KeyLoadError('RedirectRefused', `${url}: redirects to another host, which is not followed`);
    }
    target = location.href;
  }
  throw new KeyLoadError('RedirectRefused', `${url}: redirects more than ${maximumRedirects} times`);
}
