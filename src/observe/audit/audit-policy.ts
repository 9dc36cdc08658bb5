import type { RequestInfo } from '../../apimachinery/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { AuditLevel, AuditStage } from './audit-event.ts';
import type { AuditPolicy, AuditPolicyRule } from './parse-audit-policy.ts';

/** What becomes of one request's events. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omits: (stage: AuditStage) => boolean;
}

/**
 * The first rule that matches counts, and nothing is told without one (k8s.io/apiserver pkg/audit/policy/checker.go).
 * Pure.
 * @param user `undefined` where the router does not know who calls: no rule with users or groups matches.
 */
export function judgeAudit(
  policy: AuditPolicy,
  requestInfo: RequestInfo,
  user: UserInfo | undefined,
): AuditDecision {
  const rule = policy.rules.find((candidate) => matches(candidate, requestInfo, user));
  return {
    level: rule?.level ?? 'None',
    omits: (stage) => policy.omitStages.includes(stage) || rule?.omitStages.includes(stage) === true,
  };
}

function matches(rule: AuditPolicyRule, requestInfo: RequestInfo, user: UserInfo | undefined): boolean {
  const { users, userGroups, verbs, resources, namespaces, nonResourceURLs } = rule;
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  if (userGroups.length > 0 && user?.groups.some((group) => userGroups.includes(group)) !== true)
    return false;
  if (verbs.length > 0 && !verbs.includes(requestInfo.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) return matchesResource(rule, requestInfo);
  if (nonResourceURLs.length === 0) return true;
  return !requestInfo.isResourceRequest && nonResourceURLs.some((url) => matchesPath(url, requestInfo.path));
}

function matchesPath(url: string, path: string): boolean {
  return url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : url === path;
}

function matchesResource({ namespaces, resources }: AuditPolicyRule, requestInfo: RequestInfo): boolean {
  const { isResourceRequest, namespace, apiGroup, name } = requestInfo;
  if (!isResourceRequest) return false;
  if (namespaces.length > 0 && !namespaces.includes(namespace)) return false;
  if (resources.length === 0) return true;
  return resources.some(
    ({ group, resources: patterns, resourceNames }) =>
      group === apiGroup &&
      (patterns.length === 0 ||
        ((resourceNames.length === 0 || resourceNames.includes(name)) &&
          patterns.some((pattern) => matchesPattern(pattern, requestInfo)))),
  );
}

/** `pods/*` is also `pods` itself: what the code of upstream does, other than its words. */
function matchesPattern(pattern: string, { resource, subresource }: RequestInfo): boolean {
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  if (pattern === '*' || pattern === whole) return true;
  if (subresource !== '' && pattern === `*/${subresource}`) return true;
  return pattern === `${resource}/*`;
}
