import * as v from 'valibot';
import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import {
  groupName,
  listField,
  nonEmptyString,
  optionalField,
  parseDocument,
  versionName,
} from './parse-document.ts';

const strings = optionalField(v.array(v.string()));

const groupVersionKind = v.object({
  group: optionalField(v.string()),
  version: optionalField(v.string()),
  kind: optionalField(v.string()),
});

// Resources come from extension API servers as they please. A name or a scope of an odd form in one of them
// must not cost the document of all the others, so only what a merge stands on is required.
const subresource = v.object({
  subresource: nonEmptyString,
  responseKind: optionalField(groupVersionKind),
  acceptedTypes: optionalField(v.array(groupVersionKind)),
  verbs: strings,
});

const resource = v.object({
  resource: nonEmptyString,
  responseKind: optionalField(groupVersionKind),
  scope: v.fallback(optionalField(v.picklist(['Cluster', 'Namespaced'])), undefined),
  singularResource: optionalField(v.string()),
  verbs: strings,
  shortNames: strings,
  categories: strings,
  subresources: optionalField(v.array(subresource)),
});

const version = v.object({
  version: versionName,
  resources: optionalField(v.array(resource)),
  // Known values only; a new one is a new kind of "current" to a reader that does not know it.
  freshness: v.fallback(optionalField(v.picklist(['Current', 'Stale'])), undefined),
});

const group = v.object({
  metadata: v.object({ name: optionalField(groupName) }),
  versions: optionalField(v.array(version)),
});

const apiGroupDiscoveryList = v.object({
  apiVersion: v.picklist(['apidiscovery.k8s.io/v2', 'apidiscovery.k8s.io/v2beta1']),
  items: listField(group),
});

/**
 * Reads `APIGroupDiscoveryList`, v2 or v2beta1. Fields it does not know are dropped; group versions marked
 * Stale stay marked.
 *
 * @param document parsed JSON of unknown origin
 * @throws {DiscoveryDocumentError} for anything else
 */
export function parseAggregated(document: unknown): APIGroupDiscovery[] {
  return parseDocument('APIGroupDiscoveryList', apiGroupDiscoveryList, document).items;
}
