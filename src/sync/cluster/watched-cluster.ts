import type { Clock } from '../../runtime/clock.ts';
import { withLabelSelector } from '../documents/list-objects.ts';
import { createObjectWatch, type ObjectWatch, type WatchTiming } from '../documents/object-watch.ts';
import type { WatchConnection } from '../documents/server-documents.ts';
import { apiEndpointsPath, apiEndpointsSelector, parseApiEndpoints } from './api-endpoints.ts';
import { apiServicesOf, apiServicesPath } from './api-services.ts';
import { customResourceDefinitionsPath, customResourceOf } from './custom-resource-groups.ts';
import {
  type IdentityLease,
  identityLeaseSelectors,
  leasesPath,
  parseIdentityLease,
} from './identity-lease.ts';
import { parseStorageVersion, storageVersionsPath } from './storage-versions.ts';

export interface WatchedClusterOptions {
  readonly connection: WatchConnection;
  readonly clock: Clock;
  readonly timing: WatchTiming;
  readonly onChange: () => void;
}

/**
 * Each API server renews its Lease every 10 s, so silence on a watch of Leases shows a fault sooner than on other kinds,
 * which may send only one bookmark a minute. Milliseconds.
 */
const leaseSilence = 35_000;

/** Everything that the sync job watches, by kind. */
export function watchCluster({ connection, clock, timing, onChange }: WatchedClusterOptions) {
  const common = { connection, clock, timing, onChange };
  const leases = identityLeaseSelectors.map((selector) =>
    createObjectWatch<IdentityLease>({
      ...common,
      timing: { ...timing, silence: Math.min(timing.silence, leaseSilence) },
      path: withLabelSelector(leasesPath, selector),
      project: parseIdentityLease,
      reported: ({ renewedAt: _renewedAt, ...lease }) => lease,
    }),
  );
  const endpoints = createObjectWatch({
    ...common,
    path: withLabelSelector(apiEndpointsPath, apiEndpointsSelector),
    project: parseApiEndpoints,
  });
  const storageVersions = createObjectWatch({
    ...common,
    path: storageVersionsPath,
    project: parseStorageVersion,
  });
  const apiServices = createObjectWatch({ ...common, path: apiServicesPath, project: projectApiService });
  const customResourceDefinitions = createObjectWatch({
    ...common,
    path: customResourceDefinitionsPath,
    // A definition with its schemas can have a megabyte; only its names and versions are kept.
    project: customResourceOf,
  });
  const watches: readonly { readonly kind: string; readonly watch: ObjectWatch<unknown> }[] = [
    ...leases.map((watch) => ({ kind: 'identity Leases', watch })),
    { kind: 'EndpointSlices of default/kubernetes', watch: endpoints },
    { kind: 'StorageVersions', watch: storageVersions },
    { kind: 'APIServices', watch: apiServices },
    { kind: 'CustomResourceDefinitions', watch: customResourceDefinitions },
  ];
  return { leases, endpoints, storageVersions, apiServices, customResourceDefinitions, watches };
}

function projectApiService(object: unknown) {
  const warnings: string[] = [];
  return { apiServices: apiServicesOf([object], (warning) => warnings.push(warning)), warnings };
}

export type WatchedCluster = ReturnType<typeof watchCluster>;

/** Leases with either label, each once; `undefined` until both have been listed. */
export function allLeases({ leases }: WatchedCluster): readonly IdentityLease[] | undefined {
  const byId = new Map<string, IdentityLease>();
  for (const watch of leases) {
    const items = watch.items();
    if (items === undefined) return undefined;
    for (const lease of items) byId.set(lease.id, lease);
  }
  return [...byId.values()];
}
