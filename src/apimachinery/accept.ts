/** One clause of an Accept header (RFC 9110 section 12.5.1). */
interface AcceptClause {
  /** In lower case; `*` for any. */
  readonly type: string;
  /** In lower case; `*` for any. */
  readonly subtype: string;
  /** From 0, which refuses, to 1. */
  readonly quality: number;
  /** All but `q`; names in lower case, values as they stood. */
  readonly parameters: ReadonlyMap<string, string>;
}

export interface MediaTypeOffer {
  /** Type and subtype in lower case, without parameters, for example `application/json`. */
  readonly mediaType: string;
  /** The Accept parameters `g`, `v` and `as`. Left out, it is the plain form: the response as it is. */
  readonly conversion?:
    | { readonly group: string; readonly version: string; readonly kind: string }
    | undefined;
}

interface NegotiatedMediaType<Offer extends MediaTypeOffer> {
  readonly offer: Offer;
  /** Parameters of the clause that chose the offer. Empty for an empty Accept. */
  readonly parameters: ReadonlyMap<string, string>;
}

const noParameters: ReadonlyMap<string, string> = new Map();

/** Beyond either an Accept header counts as absent (RFC 9110 section 5.4). kubectl sends three clauses, browsers ten. */
const maximumClauses = 64;
export const maximumNegotiated = 8 * 1024;

/** Upstream's parser reads a q that is no number as 0, which used to mean "last" and not "never" (github.com/munnerz/goautoneg). */
const qualityWhenUnreadable = Number.MIN_VALUE;

/**
 * Chooses the form of the response as Kubernetes does (k8s.io/apiserver pkg/endpoints/handlers/negotiation/negotiate.go):
 * clauses by quality, equals with the more specific first; for each, offers in their given order. A clause with any of `g`,
 * `v` and `as` takes only an offer with exactly that conversion. An offer whose most specific clause has q=0 is refused,
 * even if a wildcard allows it (RFC 9110 section 12.4.2).
 *
 * @param clauses of `parseAccept`; `undefined` means the first plain offer
 * @returns `undefined` when nothing is acceptable, which is a 406
 */
export function negotiateMediaType<Offer extends MediaTypeOffer>(
  clauses: readonly AcceptClause[] | undefined,
  offers: readonly Offer[],
): NegotiatedMediaType<Offer> | undefined {
  if (clauses === undefined) {
    const plain = offers.find((offer) => offer.conversion === undefined);
    return plain && { offer: plain, parameters: noParameters };
  }
  const acceptable = offers.filter((offer) => !isRefused(offer, clauses));
  for (const clause of clauses) {
    if (clause.quality === 0) continue;
    const offer = acceptable.find((candidate) => specificity(clause, candidate) > 0);
    if (offer !== undefined) return { offer, parameters: clause.parameters };
  }
  return undefined;
}

/**
 * The clauses of an Accept header, the most wanted first. A clause that is no media range is left out.
 * @returns `undefined` if it is absent, empty or too large
 */
export function parseAccept(header: string | undefined): readonly AcceptClause[] | undefined {
  if (header === undefined || header === '' || header.length > maximumNegotiated) return undefined;
  const elements = header.split(',');
  if (elements.length > maximumClauses) return undefined;
  const clauses: AcceptClause[] = [];
  for (const element of elements) {
    const clause = parseClause(element);
    if (clause !== undefined) clauses.push(clause);
  }
  return clauses.sort((left, right) => right.quality - left.quality || wildcards(left) - wildcards(right));
}

function parseClause(element: string): AcceptClause | undefined {
  const [range = '', ...rest] = element.split(';');
  const [type = '', subtype, excess] = range.split('/').map((part) => part.trim().toLowerCase());
  if (excess !== undefined || type === '') return undefined;
  // A lone star means any, as java.net.HttpURLConnection sends it.
  if (subtype === undefined && type !== '*') return undefined;
  if (subtype === '') return undefined;

  let quality = 1;
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const equals = parameter.indexOf('=');
    if (equals === -1) continue;
    const name = parameter.slice(0, equals).trim().toLowerCase();
    const value = parameter.slice(equals + 1).trim();
    if (name === 'q') quality = parseQuality(value);
    else parameters.set(name, value);
  }
  return { type, subtype: subtype ?? '*', quality, parameters };
}

function parseQuality(value: string): number {
  // RFC 9110 section 12.4.2, with any number of digits.
  return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(value) ? Number(value) : qualityWhenUnreadable;
}

function wildcards(clause: AcceptClause): number {
  return clause.type === '*' ? 2 : clause.subtype === '*' ? 1 : 0;
}

function isRefused(offer: MediaTypeOffer, clauses: readonly AcceptClause[]): boolean {
  let mostSpecific = 0;
  let refused = false;
  // Clauses come with the higher quality first, so of two equally specific ones the kinder counts.
  for (const clause of clauses) {
    const rank = specificity(clause, offer);
    if (rank <= mostSpecific) continue;
    mostSpecific = rank;
    refused = clause.quality === 0;
  }
  return refused;
}

/** 3 for the very type, 2 for its main type, 1 for any, 0 when the clause does not speak of the offer. */
function specificity(clause: AcceptClause, offer: MediaTypeOffer): 0 | 1 | 2 | 3 {
  const { conversion } = offer;
  const asked = ['g', 'v', 'as'].map((name) => clause.parameters.get(name));
  const given = [conversion?.group, conversion?.version, conversion?.kind];
  if (asked.some((parameter, index) => parameter !== given[index])) return 0;
  if (clause.type === '*') return clause.subtype === '*' ? 1 : 0;
  const slash = offer.mediaType.indexOf('/');
  if (clause.type !== offer.mediaType.slice(0, slash)) return 0;
  if (clause.subtype === '*') return 2;
  return clause.subtype === offer.mediaType.slice(slash + 1) ? 3 : 0;
}
