import { apiEndpointsPath, apiEndpointsSelector } from '../cluster/api-endpoints.ts';
import { apiServicesPath } from '../cluster/api-services.ts';
import { customResourceDefinitionsPath } from '../cluster/custom-resource-groups.ts';
import { identityLeaseSelectors, leasesPath } from '../cluster/identity-lease.ts';
import { storageVersionsPath } from '../cluster/storage-versions.ts';

/** A list that all servers of a cluster share through etcd, and the file of a recording that holds it. */
export interface SharedList {
  readonly file: string;
  /** The collection, once for each selector: what any of them finds is in the list. */
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
    // Of the Leases in kube-system only those that API servers identify themselves by.
    paths: identityLeaseSelectors.map((selector) => withSelector(leasesPath, selector)),
    kind: 'LeaseList',
    apiVersion: 'coordination.k8s.io/v1',
  },
  {
    file: 'endpointslices.json',
    paths: [withSelector(apiEndpointsPath, apiEndpointsSelector)],
    kind: 'EndpointSliceList',
    apiVersion: 'discovery.k8s.io/v1',
  },
];

function withSelector(path: string, selector: string): string {
  return `${path}?labelSelector=${encodeURIComponent(selector)}`;
}
