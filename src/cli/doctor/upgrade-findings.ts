import { groupVersionString, parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import { count } from '../../dashboard/wording/display-names.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import { policiesOf } from '../../snapshot/routing-table/served-by.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

interface Side {
  readonly versions: readonly string[];
  readonly servers: readonly { readonly set: ServedSet }[];
  /** `<group>.<resource>` to the versions that some server serves. */
  readonly served: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Findings on an upgrade of a cluster from the servers of `current` to those of `target`: which resources vanish, where
 * fields may be lost while both versions run. Sets have neither custom resources nor those of extension API servers: an
 * upgrade of API servers changes nothing of them.
 */
export function upgradeFindings(current: Snapshot, target: Snapshot): readonly Finding[] {
  const from = sideOf(current);
  const to = sideOf(target);
  return [
    versionFinding(from, to),
    ...vanishFindings(from, to),
    ...schemaFindings(from, to),
    policyFinding(from, to),
  ];
}

function sideOf({ servers, servedSets }: Snapshot): Side {
  const served = new Map<string, Set<string>>();
  const serving = servers.flatMap(({ serves }) => {
    const set = servedSets[serves];
    return set === undefined ? [] : [{ set }];
  });
  for (const { set } of serving) {
    for (const [name, versions] of Object.entries(set.storageVersions)) {
      const known = served.get(name) ?? new Set<string>();
      served.set(name, known);
      for (const version of versions) known.add(version);
    }
  }
  const versions = new Set(servers.map(({ version }) => version ?? 'unknown version'));
  return { versions: [...versions].sort(compareServerVersions), servers: serving, served };
}

function versionFinding(from: Side, to: Side): Finding {
  const text = `${from.versions.join(' and ')} to ${to.versions.join(' and ')}`;
  const newestNow = from.versions.at(-1);
  const oldestNow = from.versions[0];
  const newestThen = to.versions.at(-1);
  const check = 'upgrade';
  if (compareServerVersions(newestThen, newestNow) < 0) {
    return warning(
      check,
      `${text}: that is a downgrade. Kubernetes does not support it, and objects may become unreadable`,
    );
  }
  const skipped = minorNumber(newestThen) - minorNumber(oldestNow);
  return skipped > 1
    ? warning(
        check,
        `${text}: ${skipped} minor versions at once. API servers of one cluster may be one apart (Kubernetes' version skew policy): upgrade one minor version at a time`,
      )
    : ok(check, text);
}

/** NaN, which is no step, where the version is not known. */
function minorNumber(version: string | undefined): number {
  return Number(minorVersion(version)?.split('.')[1]);
}

function orOk(findings: readonly Finding[], check: string, message: string): readonly Finding[] {
  return findings.length > 0 ? findings : [ok(check, message)];
}

function vanishFindings(from: Side, to: Side): readonly Finding[] {
  const check = 'resources that vanish';
  const findings = [...from.served].flatMap(([name, versions]): Finding[] => {
    const then = to.served.get(name) ?? new Set<string>();
    const gone = [...versions].filter((version) => !then.has(version)).sort();
    if (gone.length === 0) return [];
    const { group = '', resource = name } = parseStorageVersionName(name) ?? {};
    const text = `${gone.map((version) => groupVersionString(group, version)).join(', ')} of ${resource} will not be served`;
    const [best] = [...versions].filter((version) => then.has(version)).sort(compareVersionPriority);
    if (best !== undefined) {
      const message = `${text}: move clients and manifests to ${groupVersionString(group, best)}, which is served today, too`;
      return [warning(check, message)];
    }
    const message =
      then.size > 0
        ? `${text}, and no version of it is served both today and then (then: ${[...then].sort().join(', ')}): clients have to change with the upgrade`
        : `${text}, nor any other version of it: delete its objects before, nothing reaches them afterwards`;
    return [failed(check, message)];
  });
  return orOk(findings, check, 'every version of every resource stays');
}

/** Servers understand a resource differently: a write through one that knows less removes what it does not know. */
function schemaFindings(from: Side, to: Side): readonly Finding[] {
  const check = 'fields that may be lost';
  const differing: string[] = [];
  const unknown: string[] = [];
  for (const [name, versions] of from.served) {
    for (const version of versions) {
      if (to.served.get(name)?.has(version) !== true) continue;
      const digests = new Set(
        [...from.servers, ...to.servers].flatMap(({ set }) => digestOf(set, name, version)),
      );
      if (digests.has('unknown')) unknown.push(`${qualifiedResource(name)} ${version}`);
      else if (digests.size > 1) differing.push(`${qualifiedResource(name)} ${version}`);
    }
  }
  const findings: Finding[] = [];
  if (differing.length > 0) {
    findings.push(
      warning(
        check,
        `schemas of ${count(differing.length, 'resource')} differ: routers send requests for them to servers of one version (--preferred-version); without routers, a write through a server of the other version removes the fields that it does not know`,
        differing.sort(),
      ),
    );
  }
  if (unknown.length > 0) {
    findings.push(
      warning(
        check,
        `${count(unknown.length, 'resource')} cannot be compared, since the schemas are not known: record each side with sync --record, and name its folder`,
        unknown.sort(),
      ),
    );
  }
  return orOk(findings, check, 'no schema differs');
}

function digestOf({ storageVersions, schemas }: ServedSet, name: string, version: string): string[] {
  if (storageVersions[name]?.includes(version) !== true) return [];
  return [schemas?.[name]?.[version] ?? 'unknown'];
}

function policyFinding(from: Side, to: Side): Finding {
  const check = 'admission policies';
  const policies = new Set([...from.servers, ...to.servers].map(({ set }) => policiesOf(set)));
  return policies.size > 1
    ? warning(
        check,
        'the versions enforce different kinds of policies: while both run, routers send every write to servers of one version; --preferred-version=newest makes policies hold from the first new server on',
      )
    : ok(check, 'both versions enforce the same kinds');
}

/** `deployments.apps` for the StorageVersion name `apps.deployments`, as kubectl writes resources. */
function qualifiedResource(storageVersionName: string): string {
  const { group = '', resource = storageVersionName } = parseStorageVersionName(storageVersionName) ?? {};
  return group === '' ? resource : `${resource}.${group}`;
}
