import { type MediaTypeOffer, negotiateMediaType, parseAccept } from '../../apimachinery/accept.ts';
import type { AggregatedVersion } from './aggregated.ts';
import type { DiscoveryPath } from './discovery-path.ts';

/** An aggregated form, or the plain one: classic discovery, the OpenAPI index. */
export type DocumentForm = AggregatedVersion | 'plain';

interface NegotiatedForm {
  readonly form: DocumentForm;
  /** Indented JSON is asked for (the Accept parameter `pretty=1`). */
  readonly pretty: boolean;
}

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
 *
 * @returns `undefined` when the local server is to respond: its own view is asked for, or a form that only it can write,
 *   or refuse
 */
export function negotiateForm(path: DiscoveryPath, accept: string | undefined): NegotiatedForm | undefined {
  const hasAggregatedForm = path.kind === 'groups' && !path.trailingSlash;
  const clauses = parseAccept(accept);
  const negotiated =
    (hasAggregatedForm ? negotiateMediaType(clauses, aggregatedOffers) : undefined) ??
    negotiateMediaType(clauses, [plainOffer]);
  if (negotiated !== undefined) {
    // A client that asks for one server's own view gets just that, in every form.
    if (negotiated.parameters.get('profile') === 'nopeer') return undefined;
    return { form: negotiated.offer.form, pretty: negotiated.parameters.get('pretty') === '1' };
  }
  // The index is always JSON (k8s.io/kube-openapi pkg/handler3/handler.go).
  return path.kind === 'openapi-v3' ? { form: 'plain', pretty: false } : undefined;
}
