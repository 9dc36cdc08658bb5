import * as v from 'valibot';
import { DocumentReader } from '../../snapshot/format/document-reader.ts';
import { fieldPath, IssueList, type SnapshotIssue } from '../../snapshot/format/issues.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import { strict } from '../../snapshot/format/schema-parts.ts';
import { auditLevels, auditStages } from './audit-event.ts';

export type ParseAuditPolicyResult =
  | {
      readonly ok: true;
      readonly value: AuditPolicy;
      /** Fields that are set and have less effect here. */
      readonly warnings: readonly SnapshotIssue[];
    }
  /** Every error, each with its path. */
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/** Absent and null are the same to Go's decoder. */
const texts = v.nullish(v.array(v.string('must be text'), 'must be a list'), []);
const stages = v.nullish(
  v.array(v.picklist(auditStages, `must be one of ${auditStages.join(', ')}`), 'must be a list'),
  [],
);
const flag = v.nullish(v.boolean('must be true or false'));

/** Resources of one API group. */
const groupResources = strict({
  /** The core group is the empty string. */
  group: v.nullish(v.string('must be text'), ''),
  /** `pods`, `pods/log`, `pods/*`, a star with `/scale`, or a star alone. Empty: all of the group. */
  resources: texts,
  /** Empty: any. */
  resourceNames: texts,
});

/** An empty field matches everything. */
const ruleSchema = strict({
  level: v.picklist(auditLevels, `must be one of ${auditLevels.join(', ')}`),
  users: texts,
  userGroups: texts,
  verbs: texts,
  resources: v.nullish(v.array(groupResources, 'must be a list'), []),
  /** The empty string is for resources without a namespace. */
  namespaces: texts,
  /** Paths; a star at the end matches what goes on behind it. */
  nonResourceURLs: texts,
  omitStages: stages,
  omitManagedFields: flag,
});

const policySchema = strict({
  apiVersion: v.literal('audit.k8s.io/v1', 'must be audit.k8s.io/v1'),
  kind: v.literal('Policy', 'must be Policy'),
  metadata: v.nullish(v.looseObject({})),
  rules: v.pipe(v.array(ruleSchema, 'must be a list'), v.minLength(1, 'must have at least one rule')),
  omitStages: stages,
  omitManagedFields: flag,
});

export type AuditPolicyRule = v.InferOutput<typeof ruleSchema>;
/** audit.k8s.io/v1 Policy: the first matching rule decides how much is recorded. */
export type AuditPolicy = Pick<v.InferOutput<typeof policySchema>, 'rules' | 'omitStages'>;

/**
 * Reads an audit Policy, the shape first, then what Kubernetes wants of its fields
 * (k8s.io/apiserver pkg/apis/audit/validation).
 * @param document a value as `JSON.parse` makes it.
 */
export function parseAuditPolicy(document: unknown): ParseAuditPolicyResult {
  // Not quoted, as the schema would: it may be a secret given by mistake.
  if (!isJsonObject(document)) return { ok: false, issues: [{ path: '', message: 'must be an object' }] };
  const issues = new IssueList();
  const policy = new DocumentReader(issues).read(policySchema, document, '');
  if (policy === undefined) return { ok: false, issues: issues.toArray() };
  for (const [index, rule] of policy.rules.entries()) checkRule(rule, fieldPath('rules', index), issues);
  if (!issues.isEmpty) return { ok: false, issues: issues.toArray() };
  return { ok: true, value: policy, warnings: warningsOf(policy) };
}

function checkRule(
  { resources, namespaces, nonResourceURLs }: AuditPolicyRule,
  path: string,
  issues: IssueList,
): void {
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    issues.add(`${path}.nonResourceURLs`, 'must not be there beside resources or namespaces');
  }
  for (const [index, url] of nonResourceURLs.entries()) {
    const star = url.indexOf('*');
    if (url !== '*' && (!url.startsWith('/') || (star !== -1 && star < url.length - 1))) {
      issues.add(
        `${path}.nonResourceURLs[${index}]`,
        'must be * or a path that begins with /, with a * at its end at most',
      );
    }
  }
  for (const [index, { group, resources: patterns, resourceNames }] of resources.entries()) {
    const place = `${path}.resources[${index}]`;
    if (group.includes('/')) issues.add(`${place}.group`, 'must be a group without a version');
    if (resourceNames.length > 0 && patterns.length === 0) {
      issues.add(`${place}.resourceNames`, 'needs at least one resource beside it');
    }
  }
}

function warningsOf({ rules }: AuditPolicy): readonly SnapshotIssue[] {
  return rules.flatMap(({ level }, index) =>
    level === 'Request' || level === 'RequestResponse'
      ? [
          {
            path: `rules[${index}].level`,
            message: `${level} has the effect of Metadata here: bodies pass through, the API servers can keep them`,
          },
        ]
      : [],
  );
}
