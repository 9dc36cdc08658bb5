import type { RequestInfo } from '../../src/apimachinery/request-info.ts';

/** Request info of which nothing is known: no resource request, and every field empty. */
export const noRequestInfo: RequestInfo = {
  isResourceRequest: false,
  path: '',
  verb: '',
  apiPrefix: '',
  apiGroup: '',
  apiVersion: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  parts: [],
  fieldSelector: '',
  labelSelector: '',
};
