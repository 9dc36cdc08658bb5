import type { ApiClient } from './api-client.ts';
import type { ClientRequest } from './attempt.ts';
import { newFlowSchemas, oldAutoscalers } from './subjects.ts';

/** What client-go asks for since 1.30: both aggregated forms, then the classic one. */
const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
const classic = 'application/json';

/** The group versions that come or go with the upgrade; what they hold is looked at. */
const observed = [newFlowSchemas, oldAutoscalers];

interface AggregatedList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly versions: readonly {
      readonly version: string;
      readonly freshness?: string;
      readonly resources?: readonly { readonly resource: string }[];
    }[];
  }[];
}

interface ClassicList {
  readonly groups: readonly {
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
}

/**
 * Finds out what the cluster serves as kubectl does: `/apis`, and where that is the classic form the document of
 * each group version that it lists.
 * @returns the group versions that were found with what they hold
 */
export async function discover(client: ApiClient, form: 'aggregated' | 'classic'): Promise<Set<string>> {
  const found = new Set<string>();
  const begun = performance.now();
  const { findings, settling = 5_000, wasServed } = client.options;
  const request = { method: 'GET', path: '/apis', accept: form === 'aggregated' ? aggregated : classic };
  const answer = await askDocument(client, request);
  if (answer === undefined) return found;
  const list: AggregatedList | ClassicList = JSON.parse(answer);
  for (const { groupVersion, resource } of observed) {
    const isListed =
      'items' in list
        ? holds(list, groupVersion, resource)
        : await classicHolds(client, list, groupVersion, resource);
    if (isListed === true) found.add(groupVersion);
    if (isListed === false && wasServed(groupVersion, resource, begun - settling)) {
      findings.add('discoveryErrors', `${form} /apis lacks ${groupVersion}`);
    }
  }
  return found;
}

function holds(list: AggregatedList, groupVersion: string, resource: string): boolean {
  return list.items.some(({ metadata, versions }) =>
    versions.some(
      ({ version, resources = [] }) =>
        `${metadata.name}/${version}` === groupVersion && resources.some((one) => one.resource === resource),
    ),
  );
}

/** @returns `undefined` when its document was refused, which is taken down */
async function classicHolds(
  client: ApiClient,
  { groups }: ClassicList,
  groupVersion: string,
  resource: string,
): Promise<boolean | undefined> {
  const isListed = groups.some(({ versions }) =>
    versions.some((version) => version.groupVersion === groupVersion),
  );
  if (!isListed) return false;
  const begun = performance.now();
  const request = { method: 'GET', path: `/apis/${groupVersion}`, accept: classic };
  const served = (): boolean => client.options.wasServed(groupVersion, resource, begun);
  const document = await askDocument(client, request, served);
  if (document === undefined) return undefined;
  const { resources }: { readonly resources: readonly { readonly name: string }[] } = JSON.parse(document);
  return resources.some(({ name }) => name === resource);
}

/** @param mustBeThere whether a 404 is wrong; default: it always is */
async function askDocument(
  client: ApiClient,
  request: ClientRequest,
  mustBeThere: () => boolean = () => true,
): Promise<string | undefined> {
  const { findings } = client.options;
  const answer = await client.ask(request, undefined);
  if (answer?.status === 200) return answer.body;
  if (answer !== undefined && (answer.status !== 404 || mustBeThere())) {
    findings.add('discoveryErrors', `${request.path}: ${answer.status} ${answer.body.slice(0, 100).trim()}`);
  }
  return undefined;
}
