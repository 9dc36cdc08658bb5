import { groupVersionString, parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { compareServerVersions, minorVersion } from '../../apimachinery/server-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import { count } from '../../dashboard/wording/display-names.ts';
import { qualifiedResource } from '../../own-paths/status/router-status.ts';
import type { ServedSet, Snapshot } from '../../snapshot/format/schema.ts';
import { policiesOf } from '../../snapshot/routing-table/served-by.ts';
import { sharedGroupVersions } from '../../sync/documents/shared-objects.ts';
import { type StoringServer, undecodableVersions } from '../../sync/documents/storage-versions.ts';
import { type Finding, failed, ok, warning } from './finding.ts';

interface Side {
  readonly versions: readonly string[];
  readonly servers: readonly StoringServer[];
  /** `<group>.<resource>` to the versions that some server serves. */
  readonly served: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Findings on an upgrade of a cluster from the servers of `current` to those of `target`: which resources vanish, which
 * objects a server cannot decode, where fields may be lost while both versions run. Custom resources and resources of
 * extension API servers are left out: an upgrade of API servers changes nothing of them.
 */
export async function upgradeFindings(current: Snapshot, target: Snapshot): Promise<readonly Finding[]> {
  const from = sideOf(current);
  const to = sideOf(target);
  const shared = sharedGroupVersions(
    [...current.apiServices, ...target.apiServices],
    [...current.customResourceGroups, ...target.customResourceGroups],
  );
  return [
    versionFinding(from, to),
    ...vanishFindings(from, to),
    ...(await decodingFindings(from, to, shared)),
    ...schemaFindings(from, to),
    policyFinding(from, to),
  ];
}

function sideOf({ servers, servedSets }: Snapshot): Side {
  const served = new Map<string, Set<string>>();
  const storing = servers.flatMap(({ id, version, serves }): StoringServer[] => {
    const set = servedSets[serves];
    return set === undefined ? [] : [{ id, version, set }];
  });
  for (const { set } of storing) {
    for (const [name, versions] of Object.entries(set.storageVersions)) {
      const known = served.get(name) ?? new Set<string>();
      served.set(name, known);
      for (const version of versions) known.add(version);
    }
  }
  const versions = new Set(servers.map(({ version }) => version ?? 'unknown version'));
  return { versions: [...versions].sort(compareServerVersions), servers: storing, served };
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
      `${text}: that is a downgrade. Kubernetes does not support it; read what becomes undecodable`,
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

async function decodingFindings(
  from: Side,
  to: Side,
  shared: ReadonlySet<string>,
): Promise<readonly Finding[]> {
  const check = 'objects that cannot be decoded';
  const named = (side: string, { servers }: Side) =>
    servers.map((server) => ({ ...server, id: `${side} ${server.id}` }));
  const all = [...named('from', from), ...named('to', to)];
  const undecodable = await undecodableVersions(all, new Map(), shared);
  const storedAt = new Map<string, Set<string>>();
  for (const [id, versions] of undecodable) {
    if (!id.startsWith('from ')) continue;
    for (const [name, stored] of Object.entries(versions)) {
      storedAt.set(name, new Set([...(storedAt.get(name) ?? []), ...stored]));
    }
  }
  const findings = [...storedAt].map(([name, stored]): Finding => {
    const both = [...(from.served.get(name) ?? [])].filter((version) => to.served.get(name)?.has(version));
    const way =
      both.length > 0
        ? `while both run, routers send requests for ${both.sort().join(', ')} to the new servers; without routers they fail with 500 by chance`
        : 'while both run, requests of clients that know only the old versions fail with 500';
    return warning(
      check,
      `${qualifiedResource(name)} will be stored at ${[...stored].sort().join(', ')}, which servers of today cannot decode: ${way}, and there is no way back to today's version`,
    );
  });
  return orOk(findings, check, 'servers of today decode what the new ones store');
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
