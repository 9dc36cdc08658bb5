import { apiEndpointsPath, apiEndpointsSelector } from '../cluster/api-endpoints.ts';
import { apiServicesPath } from '../cluster/api-services.ts';
import { customResourceDefinitionsPath } from '../cluster/custom-resource-groups.ts';
import { identityLeaseSelectors, leasesPath } from '../cluster/identity-lease.ts';
import { storageVersionsPath } from '../cluster/storage-versions.ts';
import { withLabelSelector } from '../documents/list-objects.ts';

/** A list that all servers of a cluster share through etcd, and its file in a recording. */
export interface SharedList {
  readonly file: string;
  /** The collection, once per selector: the list has the objects of all of them. */
  readonly paths: readonly string[];
  readonly kind: string;
  readonly apiVersion: string;
}

export const sharedLists: readonly SharedList[] = [
  {
    file: 'apiservices.json',
    paths: [apiServicesPath],
    kind: 'APIServiceList',
    apiVersion: 'apiregistration.k8s.io/v1',
  },
  {
    file: 'customresourcedefinitions.json',
    paths: [customResourceDefinitionsPath],
    kind: 'CustomResourceDefinitionList',
    apiVersion: 'apiextensions.k8s.io/v1',
  },
  {
    file: 'storageversions.json',
    paths: [storageVersionsPath],
    kind: 'StorageVersionList',
    apiVersion: 'internal.apiserver.k8s.io/v1alpha1',
  },
  {
    file: 'leases.json',
    // Only the identity Leases of API servers.
    paths: identityLeaseSelectors.map((selector) => withLabelSelector(leasesPath, selector)),
    kind: 'LeaseList',
    apiVersion: 'coordination.k8s.io/v1',
  },
  {
    file: 'endpointslices.json',
    paths: [withLabelSelector(apiEndpointsPath, apiEndpointsSelector)],
    kind: 'EndpointSliceList',
    apiVersion: 'discovery.k8s.io/v1',
  },
];
