import { Agent, type Dispatcher, request } from 'undici';
import * as v from 'valibot';
import type { PemPair } from '../../node/credentials/credentials.ts';
import { checkServerIdentity, untrustedCertificateAdvice } from '../../node/destinations/tls-dialer.ts';
import { ReadError, unreachable } from '../server-documents.ts';

/** How a server is verified, and how the sync job authenticates there. */
export interface ServerAccess {
  /** PEM to verify the serving certificate. Default: the public authorities. */
  readonly certificateAuthorities?: string | undefined;
  /** The name that the certificate must have. Default: the host of the URL. */
  readonly serverName?: string | undefined;
  /** PEM pair of the sync job. */
  readonly clientCertificate?: PemPair | undefined;
  /** Called for each request, since tokens are rotated. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
}

/**
 * Connections to servers with the same certificates. HTTP/1.1: after a power failure of its machine, an HTTP/2 connection
 * stays in use until TCP gives up, a quarter of an hour; an HTTP/1.1 connection ends with the first timed-out request.
 */
export function httpsAgent(access: ServerAccess, options: Agent.Options = {}): Agent {
  const { certificateAuthorities: ca, serverName: servername, clientCertificate } = access;
  return new Agent({
    allowH2: false,
    ...options,
    connect: {
      checkServerIdentity,
      ...options.connect,
      ...(ca === undefined ? {} : { ca }),
      ...(servername === undefined ? {} : { servername }),
      ...(clientCertificate === undefined
        ? {}
        : { cert: clientCertificate.certificate, key: clientCertificate.key }),
    },
  });
}

interface HttpRequest extends Pick<ServerAccess, 'bearerToken'> {
  readonly agent: Agent;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly timeoutMilliseconds: number;
  readonly signal: AbortSignal;
}

/** Sends one request. Redirects are not followed (undici's `request` never does). */
export async function sendRequest(url: string | URL, options: HttpRequest): Promise<Dispatcher.ResponseData> {
  const { agent, method, headers, body = null, bearerToken, timeoutMilliseconds, signal } = options;
  return request(url, {
    dispatcher: agent,
    method,
    body,
    headers:
      bearerToken === undefined ? headers : { ...headers, authorization: `Bearer ${await bearerToken()}` },
    // undici ends a connection after HEAD, for servers that send a body all the same. Routers do not, and a check
    // each second would be a handshake each second.
    ...(method === 'HEAD' ? { reset: false } : {}),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMilliseconds)]),
  });
}

/** A complete response. */
export interface TextResponse {
  readonly status: number;
  readonly body: string;
}

/** @throws if the body is larger than `limit` bytes, or breaks off */
export async function readText(
  { statusCode, body }: Pick<Dispatcher.ResponseData, 'statusCode' | 'body'>,
  limit: number,
): Promise<TextResponse> {
  return { status: statusCode, body: (await readBody(body, limit)).toString('utf8') };
}

/** @throws if the body is larger than `limit` bytes, or breaks off */
export async function readBody(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new Error(`the response is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The error of a server that did not respond, with what to do where its certificate is not accepted.
 *
 * @param place the server, or the path that it was asked for
 * @param authoritiesFrom what names the authorities that it was verified with; `undefined`: nobody knows
 */
export function unreachableServer(
  place: string,
  cause: unknown,
  authoritiesFrom: string | undefined,
): ReadError {
  const { code, message } = unreachable(place, cause);
  const advice =
    authoritiesFrom === undefined ? undefined : untrustedCertificateAdvice(cause, authoritiesFrom);
  return new ReadError(code, advice === undefined ? message : `${message}. ${advice}`, { cause });
}

/** Whether a later request may succeed. Any other failure needs a change of a key, a permission or the request. */
export function isTransient(status: number): boolean {
  return status === 429 || status >= 500;
}

const failureStatus = v.object({
  message: v.string(),
  details: v.optional(
    v.object({ causes: v.optional(v.array(v.object({ reason: v.string(), message: v.string() }))) }),
  ),
});

/** The fields of a `metav1.Status` that are used here; `undefined` for any other body. */
export function statusOf(body: string): v.InferOutput<typeof failureStatus> | undefined {
  try {
    const parsed = v.safeParse(failureStatus, JSON.parse(body));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

/** `<status>: <message of the Status>` of a failed request. */
export function failureText({ status, body }: TextResponse): string {
  return `${status}: ${statusOf(body)?.message ?? 'without a Status'}`;
}
