import { type MediaTypeOffer, negotiateMediaType, parseAccept } from '../../apimachinery/accept.ts';
import type { AggregatedVersion } from './aggregated.ts';
import type { DiscoveryPath } from './discovery-path.ts';

/** An aggregated form, or the plain one: classic discovery, the OpenAPI index. */
export type DocumentForm = AggregatedVersion | 'plain';

export type NegotiatedForm =
  | {
      readonly outcome: 'merged';
      readonly form: DocumentForm;
      /** Indented JSON is asked for (the Accept parameter `pretty=1`). */
      readonly pretty: boolean;
    }
  /** The local server's own view is asked for, or a form only it can write. */
  | { readonly outcome: 'local' }
  | { readonly outcome: 'not-acceptable' };

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

/** What API servers write discovery in, as the message of their 406 lists it. */
export const acceptedMediaTypes = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
] as const;

/** Those forms and, behind a feature gate since 1.32, CBOR: left to the local server unless JSON will do. */
const localOffers: readonly MediaTypeOffer[] = [...acceptedMediaTypes, 'application/cbor'].flatMap(
  (mediaType) => [{ mediaType }, ...aggregatedOffers.map(({ conversion }) => ({ mediaType, conversion }))],
);

/** The media type a document is sent under. */
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
 */
export function negotiateForm(path: DiscoveryPath, accept: string | undefined): NegotiatedForm {
  const hasAggregatedForm = path.kind === 'groups' && !path.trailingSlash;
  const clauses = parseAccept(accept);
  const negotiated =
    (hasAggregatedForm ? negotiateMediaType(clauses, aggregatedOffers) : undefined) ??
    negotiateMediaType(clauses, [plainOffer]);
  if (negotiated !== undefined) {
    // A client that asks for one server's own view gets just that, in every form.
    if (negotiated.parameters.get('profile') === 'nopeer') return { outcome: 'local' };
    const pretty = negotiated.parameters.get('pretty') === '1';
    return { outcome: 'merged', form: negotiated.offer.form, pretty };
  }
  // The index is always JSON (k8s.io/kube-openapi pkg/handler3/handler.go).
  if (path.kind === 'openapi-v3') return { outcome: 'merged', form: 'plain', pretty: false };
  const isLocal = negotiateMediaType(
    clauses,
    hasAggregatedForm ? localOffers : localOffers.filter(({ conversion }) => conversion === undefined),
  );
  return { outcome: isLocal === undefined ? 'not-acceptable' : 'local' };
}
