import { request } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, guardedLookup, refusedAddress } from '../../node/destinations/tls-dialer.ts';

import type { AddressPolicy } from '../../snapshot/addresses/address-policy.ts';

/** One question of a command, on a connection of its own. Texts are PEM. */
interface HttpsQuestion {
  /** `https://host:port/path`. */
  readonly url: string;
  /** Default: `GET`. */
  readonly method?: string;
  /** Default: none. */
  readonly body?: string | undefined;
  /** The name the certificate must carry; default the host. */
  readonly serverName: string | undefined;
  /** Default: the system's own. */
  readonly certificateAuthorities: string | undefined;
  /** Whether a certificate among the authorities is trusted that signs none itself: the server's own. Default: false. */
  readonly allowPartialTrustChain?: boolean;
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | undefined;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  /** For addresses out of a snapshot. Default: every address may be dialled. */
  readonly addressPolicy?: AddressPolicy | undefined;
  /** Milliseconds until the whole response has to be there. */
  readonly responseTimeout: number;
  /** Bytes that the response may have. */
  readonly longestResponse: number;
}

export interface HttpsResponse {
  readonly status: number;
  /** The Date header. */
  readonly date: string | undefined;
  readonly text: string;
}

/** @throws when there is no response, one that is too long or too late, or when the address may not be dialled */
export async function askOverHttps(question: HttpsQuestion): Promise<HttpsResponse> {
  const { url, serverName, certificateAuthorities, clientCertificate, headers, addressPolicy } = question;
  const { host, hostname } = new URL(url);
  // An IP address is dialled without a look-up.
  const address = hostname.replace(/^\[|\]$/g, '');
  const isDialledAsItIs = isIP(address) !== 0;
  const refusal =
    addressPolicy === undefined || !isDialledAsItIs ? undefined : refusedAddress(address, addressPolicy);
  if (refusal !== undefined) throw new RangeError(`${address} ${refusal}`);
  const { promise, resolve, reject } = Promise.withResolvers<HttpsResponse>();
  const outgoing = request(url, {
    method: question.method ?? 'GET',
    headers: ['host', host, ...headers, ...lengthOf(question.body)],
    agent: false,
    checkServerIdentity,
    signal: AbortSignal.timeout(question.responseTimeout),
    ...(addressPolicy === undefined ? {} : { lookup: guardedLookup(addressPolicy) }),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
    ...(question.allowPartialTrustChain === true ? { allowPartialTrustChain: true } : {}),
    ...(clientCertificate === undefined
      ? {}
      : { cert: clientCertificate.certificate, key: clientCertificate.key }),
  });
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => {
    const chunks: Buffer[] = [];
    let length = 0;
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.byteLength;
      chunks.push(chunk);
      if (length > question.longestResponse) {
        incoming.destroy(new RangeError(`the response is longer than ${question.longestResponse} bytes`));
      }
    });
    incoming.on('error', reject);
    incoming.on('end', () => {
      const { statusCode: status = 0, headers } = incoming;
      resolve({ status, date: headers.date, text: Buffer.concat(chunks).toString('utf8') });
    });
  });
  outgoing.end(question.body);
  return promise;
}

/** Node adds none to header lines that are given as a list: the body would be sent in chunks. */
function lengthOf(body: string | undefined): readonly string[] {
  return body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
}
