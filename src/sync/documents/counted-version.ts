import { groupVersionString, parseStorageVersionName } from '../../apimachinery/group-version.ts';
import type { VersionParts } from '../../apimachinery/server-version.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { shortDigest } from './feature-gates.ts';
import { documentsIn, type OpenApiReading, type SuccessfulReading } from './sync-server.ts';

/** @param shared as `ownApis` */
export async function versionPartsOf(
  { version, emulates, featureGates, set, openApi }: SuccessfulReading,
  shared: ReadonlySet<string>,
): Promise<VersionParts> {
  return { version, emulates, featureGates, apis: await ownApis(set, openApi, shared) };
}

interface KnownDigest {
  readonly openApi: OpenApiReading;
  /** How many group versions were shared; they only become more. */
  readonly sharedCount: number;
  readonly digest: Promise<string>;
}

/** By the set, and by what is shared: of an unchanged server nothing is worked out anew, round after round. */
const digests = new WeakMap<ServedSet, WeakMap<ReadonlySet<string>, KnownDigest>>();

/**
 * A digest of what a server serves of its own, and of the hashes of its documents: servers that were started alike have the
 * same one. Custom resources and extension APIs come and go on each server at its own moment and say nothing of it, and so
 * only Kubernetes' own groups count, which others may not use without an approval (KEP-1111).
 *
 * @param shared group versions that are, or once were, those of custom resources or extension APIs; none is taken out again
 * @returns `undefined` where the index could not be read, or discovery is not known
 */
async function ownApis(
  set: ServedSet,
  openApi: OpenApiReading,
  shared: ReadonlySet<string>,
): Promise<string | undefined> {
  if (openApi.kind === 'failed' || set.discovery === undefined) return undefined;
  const ofSet = digests.get(set) ?? new WeakMap<ReadonlySet<string>, KnownDigest>();
  digests.set(set, ofSet);
  const known = ofSet.get(shared);
  if (known?.openApi === openApi && known.sharedCount === shared.size) return known.digest;
  const digest = shortDigest(ownApisText(set, openApi, shared));
  ofSet.set(shared, { openApi, sharedCount: shared.size, digest });
  return digest;
}

function ownApisText(
  { storageVersions }: ServedSet,
  openApi: Exclude<OpenApiReading, { kind: 'failed' }>,
  shared: ReadonlySet<string>,
): string {
  const isOwn = (group: string, version: string) =>
    (!group.includes('.') || group.endsWith('.k8s.io')) && !shared.has(groupVersionString(group, version));
  const served = Object.entries(storageVersions).flatMap(([name, versions]) => {
    const group = parseStorageVersionName(name)?.group;
    const own = versions.filter((version) => group !== undefined && isOwn(group, version));
    return own.length === 0 ? [] : [`${name}=${own.toSorted().join(',')}`];
  });
  const paths = openApi.kind === 'read' ? openApi.paths : {};
  const documents = [...documentsIn(paths)].flatMap(([groupVersion, url]) => {
    const [version = '', group = ''] = groupVersion.split('/').reverse();
    const hash = /[?&]hash=(\w+)/.exec(url)?.[1];
    return hash !== undefined && isOwn(group, version) ? [`${groupVersion}#${hash}`] : [];
  });
  return [...served.sort(), ...documents.sort()].join(' ');
}
