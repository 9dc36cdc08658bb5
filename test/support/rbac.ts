import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';
import type { RequestInfo } from '../../src/apimachinery/request-info.ts';

const policyRule = v.strictObject({
  apiGroups: v.optional(v.array(v.string()), []),
  resources: v.optional(v.array(v.string()), []),
  resourceNames: v.optional(v.array(v.string()), []),
  nonResourceURLs: v.optional(v.array(v.string()), []),
  verbs: v.array(v.string()),
});

const role = v.object({
  kind: v.picklist(['Role', 'ClusterRole']),
  metadata: v.object({ name: v.string(), namespace: v.optional(v.string()) }),
  rules: v.array(policyRule),
});

/** One thing that a role allows: a verb on a resource, or on a path. */
interface Permission {
  /** For messages. */
  readonly name: string;
  allows(request: RequestInfo): boolean;
}

/**
 * Everything that the roles of a manifest allow, one verb and one resource or path at a time, with the rules of
 * Kubernetes' authorizer (k8s.io/kubernetes pkg/apis/rbac/v1 evaluation helpers). All of it is taken as bound.
 */
export function permissionsOf(manifest: string): readonly Permission[] {
  const documents = parseAllDocuments(manifest).map((document): unknown => document.toJS());
  return documents.flatMap((document) => {
    const parsed = v.safeParse(role, document);
    if (!parsed.success) return [];
    const { kind, metadata, rules } = parsed.output;
    const namespace = kind === 'Role' ? (metadata.namespace ?? '') : undefined;
    return rules.flatMap((rule) => [...resourcePermissions(rule, namespace), ...pathPermissions(rule)]);
  });
}

function resourcePermissions(
  { apiGroups, resources, resourceNames, verbs }: v.InferOutput<typeof policyRule>,
  namespace: string | undefined,
): Permission[] {
  return verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => ({
        name: `${[verb, `${group}/${resource}`, ...resourceNames].join(' ')} in ${namespace ?? 'all namespaces'}`,
        allows: (request: RequestInfo) =>
          request.isResourceRequest &&
          request.verb === verb &&
          request.apiGroup === group &&
          request.resource === resource &&
          request.subresource === '' &&
          (resourceNames.length === 0 || resourceNames.includes(request.name)) &&
          (namespace === undefined || request.namespace === namespace),
      })),
    ),
  );
}

function pathPermissions({ nonResourceURLs, verbs }: v.InferOutput<typeof policyRule>): Permission[] {
  return verbs.flatMap((verb) =>
    nonResourceURLs.map((url) => ({
      name: `${verb} ${url}`,
      allows: ({ isResourceRequest, verb: asked, path }: RequestInfo) =>
        !isResourceRequest &&
        asked === verb &&
        (url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url),
    })),
  );
}
