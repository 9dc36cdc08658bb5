import { createHash } from 'node:crypto';
import { type Answer, emptyAnswer, objectAnswer } from './answer.ts';
import { PathNotFoundError } from './api-error.ts';
import { registeredGroupVersions } from './cluster.ts';
import type { JsonObject } from './kubernetes-object.ts';
import type { KubernetesVersion } from './kubernetes-versions.ts';
import { type Encoding, encodingOf, negotiate, parseAccept } from './negotiation.ts';
import type { ServedGroupVersion, ServedResource, ServedResources } from './served-resources.ts';
import { storageVersionOf } from './storage-version.ts';
import type { ExampleStore } from './store.ts';

export interface DiscoverySource {
  readonly version: KubernetesVersion;
  readonly served: ServedResources;
  readonly store: ExampleStore;
  /** `host:port`, told in `/api`. */
  readonly address: string;
}

export interface DiscoveryRequest {
  readonly path: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/**
 * Answers `/api`, `/apis` and what is below, up to the group version.
 * @throws {PathNotFoundError} for a group nobody registered, or a group version this server does not serve.
 * @throws {ApiError} NotAcceptable
 */
export function discoveryAnswer(source: DiscoverySource, request: DiscoveryRequest): Answer {
  const [prefix, ...rest] = request.path.replace(/\/$/, '').split('/').slice(1);
  if (rest.length === 0) {
    const isLegacy = prefix === 'api';
    const form = chooseForm(source.version, request.accept);
    if (form.kind === 'aggregated') return aggregatedAnswer(source, form, isLegacy, request.ifNoneMatch);
    return objectAnswer(isLegacy ? apiVersions(source) : apiGroupList(source), form.encoding);
  }
  const { encoding } = negotiate(request.accept);
  const [group, version] = prefix === 'api' ? ['', rest[0]] : rest;
  if (version === undefined) return objectAnswer(apiGroup(source, group ?? ''), encoding);
  const groupVersion = source.served.groupVersion(group ?? '', version);
  if (groupVersion === undefined) throw new PathNotFoundError();
  return objectAnswer(apiResourceList(source, groupVersion), encoding);
}

type Form =
  | { readonly kind: 'classic'; readonly encoding: Encoding }
  | { readonly kind: 'aggregated'; readonly apiVersion: 'v2' | 'v2beta1' };

/** The first thing the client would take and the version knows; nothing known is a 406. */
function chooseForm(version: KubernetesVersion, accept: string | undefined): Form {
  for (const { type, parameters } of parseAccept(accept)) {
    const encoding = encodingOf(type);
    if (encoding === undefined) continue;
    if (!parameters.has('as')) return { kind: 'classic', encoding };
    const isAggregated =
      parameters.get('as') === 'APIGroupDiscoveryList' && parameters.get('g') === 'apidiscovery.k8s.io';
    const apiVersion = version.aggregatedDiscovery.find((known) => known === parameters.get('v'));
    // Other parameters, `profile` among them, change nothing: each server tells what it serves itself.
    if (isAggregated && apiVersion !== undefined) return { kind: 'aggregated', apiVersion };
  }
  return { kind: 'classic', encoding: negotiate(accept).encoding };
}

function aggregatedAnswer(
  source: DiscoverySource,
  { apiVersion }: { readonly apiVersion: string },
  isLegacy: boolean,
  ifNoneMatch: string | undefined,
): Answer {
  const document = groupDiscoveryList(source, apiVersion, isLegacy);
  const etag = `"${createHash('sha512').update(JSON.stringify(document)).digest('hex').toUpperCase()}"`;
  const headers = {
    'content-type': `application/json;g=apidiscovery.k8s.io;v=${apiVersion};as=APIGroupDiscoveryList`,
    etag,
    vary: 'Accept',
    'cache-control': 'public',
  };
  // The whole field is compared: no lists, no weak form (pkg/endpoints/discovery/aggregated/etag.go).
  if (ifNoneMatch === etag) return emptyAnswer(304, headers);
  return { ...objectAnswer(document), headers };
}

function groupDiscoveryList(
  { version, served }: DiscoverySource,
  apiVersion: string,
  isLegacy: boolean,
): JsonObject {
  const groups = new Map<string, ServedGroupVersion[]>();
  for (const groupVersion of served.groupVersions()) {
    if ((groupVersion.group === '') !== isLegacy) continue;
    groups.set(groupVersion.group, [...(groups.get(groupVersion.group) ?? []), groupVersion]);
  }
  const items = [...groups].map(([name, versions]) => ({
    metadata: {
      ...(name === '' ? {} : { name }),
      ...(version.emptyCreationTimestamp ? { creationTimestamp: null } : {}),
    },
    versions: versions.map((one) => ({
      version: one.version,
      resources: one.resources.map((resource) => resourceDiscovery(version, resource)),
      ...(version.freshness ? { freshness: 'Current' } : {}),
    })),
  }));
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${apiVersion}`,
    metadata: {},
    items,
  };
}

function resourceDiscovery(version: KubernetesVersion, served: ServedResource): JsonObject {
  return {
    resource: served.resource,
    // An empty group and version stand for those of the resource.
    responseKind: { group: '', version: '', kind: served.kind },
    scope: served.scope,
    singularResource: singularName(version, served),
    verbs: served.verbs,
    ...namesOf(served),
    ...(served.subresources.length === 0
      ? {}
      : {
          subresources: served.subresources.map(({ name, kind, kindGroup, kindVersion, verbs }) => ({
            subresource: name,
            responseKind: { group: kindGroup, version: kindVersion, kind },
            verbs,
          })),
        }),
  };
}

function apiVersions({ address }: DiscoverySource): JsonObject {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
  };
}

/** Lists what the whole cluster registered, also what this server does not serve: see `registerApiServices`. */
function apiGroupList({ store }: DiscoverySource): JsonObject {
  const names = new Set(registeredGroupVersions(store).map(({ group }) => group));
  const groups = [...names].map((name) => groupEntry(store, name)).filter((entry) => entry !== undefined);
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

function apiGroup({ store }: DiscoverySource, name: string): JsonObject {
  const entry = groupEntry(store, name);
  if (entry === undefined) throw new PathNotFoundError();
  return { kind: 'APIGroup', apiVersion: 'v1', ...entry };
}

function groupEntry(store: ExampleStore, name: string): JsonObject | undefined {
  const versions = registeredGroupVersions(store)
    .filter(({ group }) => group === name)
    .map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
  const [preferredVersion] = versions;
  return preferredVersion === undefined ? undefined : { name, versions, preferredVersion };
}

function apiResourceList(
  { version, served: all }: DiscoverySource,
  { group, groupVersion, resources }: ServedGroupVersion,
): JsonObject {
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion,
    resources: resources.flatMap((served) => [
      {
        name: served.resource,
        singularName: singularName(version, served),
        namespaced: served.scope === 'Namespaced',
        kind: served.kind,
        verbs: served.verbs,
        ...namesOf(served),
        ...storageVersionHash(all, served),
      },
      ...served.subresources.map(({ name, kind, kindGroup, kindVersion, verbs }) => ({
        name: `${served.resource}/${name}`,
        singularName: '',
        namespaced: served.scope === 'Namespaced',
        ...(kindGroup === '' ? {} : { group: kindGroup }),
        ...(kindVersion === '' ? {} : { version: kindVersion }),
        kind,
        verbs,
      })),
    ]),
  };
}

/** For what is stored, which can be updated. */
function storageVersionHash(all: ServedResources, { storage, verbs, kind }: ServedResource): JsonObject {
  if (!verbs.includes('update')) return {};
  const version = storageVersionOf(all, storage);
  const digest = createHash('sha256').update(`${storage.group}/${version}/${kind}`).digest();
  return { storageVersionHash: digest.subarray(0, 8).toString('base64') };
}

function singularName(version: KubernetesVersion, { kind }: ServedResource): string {
  return version.singularNames ? kind.toLowerCase() : '';
}

function namesOf({ shortNames, categories }: ServedResource): JsonObject {
  return {
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}
