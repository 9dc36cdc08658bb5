import {
  type MediaTypeOffer,
  maximumNegotiated,
  negotiateMediaType,
  parseAccept,
} from '../../apimachinery/accept.ts';
import { acceptsGzip, type EncodedResponseInit, gzip } from '../../apimachinery/content-coding.ts';
import { SharedFlights } from '../../runtime/shared-flights.ts';
import type { Steps } from '../../runtime/shared-work.ts';
import type { AggregatedVersion } from './aggregated.ts';
import type { DiscoveryPath } from './discovery-path.ts';

/** An aggregated form, or the plain one: classic discovery, the OpenAPI index. */
export type DocumentForm = AggregatedVersion | 'plain';

interface Offer extends MediaTypeOffer {
  readonly form: DocumentForm;
}

/** In JSON, which is all that is merged. */
const aggregatedOffers: readonly Offer[] = (['v2', 'v2beta1'] as const).map((version) => ({
  mediaType: 'application/json',
  conversion: { group: 'apidiscovery.k8s.io', version, kind: 'APIGroupDiscoveryList' },
  form: version,
}));
const plainOffer: Offer = { mediaType: 'application/json', form: 'plain' };

export function contentType(form: DocumentForm): string {
  return form === 'plain'
    ? 'application/json'
    : `application/json;g=apidiscovery.k8s.io;v=${form};as=APIGroupDiscoveryList`;
}

/**
 * Which form of a document the client gets.
 *
 * Under `/api` and `/apis` a clause for an aggregated form is looked for first, even if others precede it;
 * only where there is none does the plain form count (upstream wrapper.go negotiates twice). With a trailing
 * slash, and everywhere else, there is only the plain form.
 *
 * @returns `undefined` when the local server is to respond: its own view is asked for, or a form that only it can write,
 *   or refuse
 */
export function negotiateForm(path: DiscoveryPath, accept: string | undefined): DocumentForm | undefined {
  const hasAggregatedForm = path.kind === 'groups' && !path.trailingSlash;
  const clauses = parseAccept(accept);
  const negotiated =
    (hasAggregatedForm ? negotiateMediaType(clauses, aggregatedOffers) : undefined) ??
    negotiateMediaType(clauses, [plainOffer]);
  if (negotiated !== undefined) {
    // A client that asks for one server's own view gets just that, in every form.
    return negotiated.parameters.get('profile') === 'nopeer' ? undefined : negotiated.offer.form;
  }
  // The index is always JSON (k8s.io/kube-openapi pkg/handler3/handler.go).
  return path.kind === 'openapi-v3' ? 'plain' : undefined;
}

/** API servers compress what is longer than this (k8s.io/apiserver, responsewriters/writers.go). In bytes. */
const gzipThreshold = 128 * 1024;

/** A document, ready to be sent any number of times: bytes and ETag are made once. */
export class EncodedDocument {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly #hashed: Uint8Array<ArrayBuffer>;
  #etag: string | undefined;
  #gzipped: Uint8Array<ArrayBuffer> | undefined;
  readonly #compressing = new SharedFlights<Uint8Array<ArrayBuffer>>();

  /** @param hashed what the ETag is made of; default: the body */
  constructor(body: Uint8Array<ArrayBuffer>, hashed = body) {
    this.body = body;
    this.#hashed = hashed;
  }

  /** The SHA-512 of the document in upper-case hexadecimal, quoted (upstream etag.go). */
  async etag(): Promise<string> {
    if (this.#etag === undefined) {
      const digest = await crypto.subtle.digest('SHA-512', this.#hashed);
      this.#etag = `"${new Uint8Array(digest).toHex().toUpperCase()}"`;
    }
    return this.#etag;
  }

  /** The body with gzip, or `undefined` when it is too short to be worth it. */
  async gzipped(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.body.byteLength <= gzipThreshold) return undefined;
    this.#gzipped ??= await this.#compressing.once('gzip', () => gzip(this.body));
    return this.#gzipped;
  }
}

/** Writes JSON as API servers do, in steps. Members that are `undefined` are left out. */
export function* jsonDocument(value: object): Steps<EncodedDocument> {
  const members: string[] = [];
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    let text = '';
    if (Array.isArray(member)) {
      const items: string[] = [];
      for (const item of member) {
        items.push(JSON.stringify(item));
        yield;
      }
      text = `[${items.join(',')}]`;
    } else text = JSON.stringify(member);
    members.push(`${JSON.stringify(key)}:${text}`);
    yield;
  }
  // Go's encoder ends a document with a line feed; its ETag is made without it.
  const body = new TextEncoder().encode(`{${members.join(',')}}\n`);
  return new EncodedDocument(body, body.subarray(0, -1));
}

interface ConditionalRequest {
  readonly method: string;
  readonly ifNoneMatch?: string | undefined;
  readonly acceptEncoding?: string | undefined;
}

const vary = 'Accept, Accept-Encoding';

/** The response to GET or HEAD: the document, with gzip where that is worth it, or 304 when the client has it. */
export async function respondWith(
  document: EncodedDocument,
  request: ConditionalRequest,
  { contentType, cacheControl }: { readonly contentType: string; readonly cacheControl: string },
): Promise<Response> {
  // One ETag for all encodings, as upstream: it is only ever compared weakly here.
  const etag = await document.etag();
  const headers: Record<string, string> = { 'cache-control': cacheControl, etag, vary };
  if (matchesIfNoneMatch(request.ifNoneMatch, etag)) return new Response(null, { status: 304, headers });

  const gzipped = acceptsGzip(request.acceptEncoding) ? await document.gzipped() : undefined;
  const body = gzipped ?? document.body;
  headers['content-type'] = contentType;
  headers['content-length'] = String(body.byteLength);
  if (gzipped !== undefined) headers['content-encoding'] = 'gzip';
  const init: EncodedResponseInit = { headers, encodeBody: 'manual' };
  return new Response(request.method === 'HEAD' ? null : body, init);
}

/**
 * True if `If-None-Match` names the document, so that 304 is the response: a list of entity tags, weak or not, or a
 * star (RFC 9110 section 13.1.2). Tags are compared weakly, as the header asks for.
 *
 * @param etag the document's own strong entity tag, quotes included
 */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  // One that is too large counts as absent, as `parseAccept` has it.
  if (ifNoneMatch === undefined || ifNoneMatch.length > maximumNegotiated) return false;
  if (ifNoneMatch.trim() === '*') return true;
  for (const [, tag] of ifNoneMatch.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
}
