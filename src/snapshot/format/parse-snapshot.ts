import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { isDns1035Label, isDns1123Subdomain, isVisibleAscii } from '../../apimachinery/names.ts';
import { sha256DigestPattern } from '../../runtime/bytes.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import {
  type DocumentIssue,
  DocumentReader,
  fieldPath,
  IssueList,
  isJsonObject,
  parseJsonText,
  quoted,
  type Read,
} from '../../runtime/validation.ts';
import { snapshotLimits } from './limits.ts';
import { canonicalTexts, keyOfText, servedSetText } from './packed-snapshot.ts';
import {
  apiService,
  apiVersion,
  customResourceGroup,
  freshness,
  groupMetadata,
  groupVersions,
  kind,
  metadata,
  resourceDiscovery,
  type ServedSet,
  type Snapshot,
  type SnapshotApiService,
  type SnapshotServer,
  servedVersions,
  server,
  serverRelativeURL,
  storageVersionHash,
  subresourceNames,
  versionName,
} from './schema.ts';

type ParseSnapshotResult =
  | { readonly ok: true; readonly snapshot: CheckedSnapshot }
  /** The first hundred errors, each with its path; where there are more, a last entry says how many. */
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

/**
 * Reads a snapshot as JSON text, at most 8 MiB of it (`snapshotLimits.bytes`, counted as UTF-8).
 * Never throws for bad input.
 */
export async function parseSnapshotText(text: string): Promise<ParseSnapshotResult> {
  if (!fitsInBytes(text, snapshotLimits.bytes)) {
    return { ok: false, issues: [{ path: '', message: `is larger than ${snapshotLimits.bytes} bytes` }] };
  }
  const parsed = parseJsonText(text, snapshotLimits.depth);
  return parsed.ok ? parseSnapshot(parsed.value) : { ok: false, issues: [parsed.issue] };
}

/**
 * Checks a snapshot, the whole of it: shape, names, limits, references between its parts, and that each
 * set's key is the hash of its content. Strict: an unknown field is an error. Never throws for bad
 * input. Both forms are read: the plain one and, as it is signed, the packed one (`packSnapshot`); what comes back
 * is plain, with groups that several sets hold as one object.
 *
 * @param input a value as `JSON.parse` makes it. It must not change until the result is there.
 *
 * @example
 * ```ts
 * const result = await parseSnapshot({ kind: 'StorageVersionSnapshot' });
 * if (!result.ok) console.log(result.issues.length > 0); // true
 * ```
 */
export async function parseSnapshot(input: unknown): Promise<ParseSnapshotResult> {
  const issues = new IssueList();
  if (isJsonObject(input)) refuseHostileShape(input, issues);
  else issues.add('', 'must be an object');
  if (!issues.isEmpty) return { ok: false, issues: issues.toArray() };

  const reader = new DocumentReader(issues);
  const members = [
    'apiVersion',
    'kind',
    'metadata',
    'servers',
    'servedSets',
    'discoveryGroups',
    'apiServices',
    'customResourceGroups',
  ] as const;
  const document = reader.members(input, '', members) ?? {};
  const slice = createTimeSlice();
  const readApiVersion = reader.read(apiVersion, document.apiVersion, 'apiVersion');
  const readKind = reader.read(kind, document.kind, 'kind');
  const readMetadata = reader.read(metadata, document.metadata, 'metadata');
  const readServers = reader.list(snapshotLimits.servers, serverReader(reader, document.servedSets));
  const servers = readServers(document.servers, 'servers');
  // A control plane without servers responds to no one, so this snapshot cannot have been made of one.
  if (Array.isArray(document.servers) && document.servers.length === 0) {
    issues.add('servers', 'must list at least one server');
  }
  const readDiscovery = await discoveryReader(reader, document.discoveryGroups, slice);
  const servedSets = await readServedSets(reader, document.servedSets, readDiscovery, slice);
  const readApiServices = reader.list(snapshotLimits.apiServices, apiServiceReader(reader));
  const apiServices = readApiServices(document.apiServices, 'apiServices');
  const readGroups = reader.list(snapshotLimits.customResourceGroups, reader.value(customResourceGroup));
  const customResourceGroups = readGroups(document.customResourceGroups, 'customResourceGroups');

  if (
    !issues.isEmpty ||
    readApiVersion === undefined ||
    readKind === undefined ||
    readMetadata === undefined
  ) {
    return { ok: false, issues: issues.toArray() };
  }
  const snapshot: Snapshot = {
    apiVersion: readApiVersion,
    kind: readKind,
    metadata: readMetadata,
    servers,
    servedSets,
    apiServices,
    customResourceGroups,
  };
  markChecked(snapshot);
  return { ok: true, snapshot };
}

const checked = new WeakSet<Snapshot>();
declare const checkedMark: unique symbol;

/** A snapshot that `parseSnapshot` has made: nothing of it need be checked again. */
export type CheckedSnapshot = Snapshot & { readonly [checkedMark]: true };

function markChecked(snapshot: Snapshot): asserts snapshot is CheckedSnapshot {
  checked.add(snapshot);
}

/** Whether this very object is one. */
export function isParsed(snapshot: Snapshot): snapshot is CheckedSnapshot {
  return checked.has(snapshot);
}

async function readServedSets(
  reader: DocumentReader,
  input: unknown,
  readDiscovery: ReadDiscovery,
  slice: TimeSlice,
): Promise<Record<string, ServedSet>> {
  const keyIssue = (key: string): string | undefined =>
    sha256DigestPattern.test(key)
      ? undefined
      : 'must be named sha256: and 64 hexadecimal digits in lower case';
  const placed = reader.record(snapshotLimits.servedSets, keyIssue, (value, path) => ({ value, path }));
  const textOf = canonicalTexts();
  const sets: [string, ServedSet][] = [];
  let characters = 0;
  for (const [key, { value, path }] of Object.entries(placed(input, 'servedSets'))) {
    const issuesBefore = reader.issues.count;
    const set = await readServedSet(reader, value, path, readDiscovery, slice);
    // The hash of an invalid set is not compared: a second error would not help.
    if (set === undefined || reader.issues.count > issuesBefore) continue;
    sets.push([key, set]);
    for (const group of set.discovery ?? []) characters += textOf(group).length;
    if (characters > snapshotLimits.unpacked) {
      reader.issues.add('servedSets', `must not stand for more than ${snapshotLimits.unpacked} characters`);
      break;
    }
    await slice.rest();
    const wanted = await keyOfText(servedSetText(set, textOf));
    if (key === wanted || keyIssue(key) !== undefined) continue;
    reader.issues.add(path, `must be named by the hash of its content, ${wanted}`);
  }
  return Object.fromEntries(sets);
}

function serverReader(reader: DocumentReader, servedSets: unknown): Read<SnapshotServer> {
  const paths = new Map<string, string>();
  return (input, path) => {
    const read = reader.read(server, input, path);
    if (read === undefined) return undefined;
    const { id, serves } = read;
    const first = paths.get(id);
    if (first === undefined) paths.set(id, path);
    else reader.issues.add(`${path}.id`, `must be unique: ${quoted(id)} is also the id of ${first}`);
    if (isJsonObject(servedSets) && !Object.hasOwn(servedSets, serves)) {
      reader.issues.add(`${path}.serves`, `must be a key of servedSets; there is no ${quoted(serves)}`);
    }
    return read;
  };
}

function apiServiceReader(reader: DocumentReader): Read<SnapshotApiService> {
  const paths = new Map<string, string>();
  return (input, path) => {
    const read = reader.read(apiService, input, path);
    if (read === undefined) return undefined;
    // The name of the APIService object, which upstream requires to be spelled like this.
    const name = `${read.version}.${read.group}`;
    const first = paths.get(name);
    if (first === undefined) paths.set(name, path);
    else reader.issues.add(path, `must be unique: the APIService ${quoted(name)} is also ${first}`);
    return read;
  };
}

function fitsInBytes(text: string, limit: number): boolean {
  // UTF-8 takes one to three bytes for each UTF-16 code unit: mostly the length alone decides.
  if (text.length > limit) return false;
  return text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit;
}

const prototypeKeys = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Whether a snapshot may have no member of this name. `JSON.parse` makes plain members of such names. Copied from object to
 * object by code that does not know better, they reach into prototypes; no name of Kubernetes is spelled like this.
 */
export function isPrototypeKey(key: string): boolean {
  return prototypeKeys.has(key);
}

interface Pending {
  readonly value: object;
  readonly depth: number;
  /** Its path, built only for an error: most snapshots have none. */
  readonly key: string | number;
  readonly parent: Pending | undefined;
}

/**
 * Looks through the whole value before anything reads from it: members named like parts of a prototype,
 * values nested too deep, more values than a snapshot can have. Walks without recursion.
 */
function refuseHostileShape(root: object, issues: IssueList): void {
  const pending: Pending[] = [{ value: root, depth: 1, key: '', parent: undefined }];
  let seen = 1;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (depth > snapshotLimits.depth) {
      issues.add('', `is nested deeper than ${snapshotLimits.depth} levels`);
      return;
    }
    for (const [key, member] of membersOf(value)) {
      if (++seen > snapshotLimits.values) {
        issues.add('', `has more than ${snapshotLimits.values} values`);
        return;
      }
      if (typeof key === 'string' && isPrototypeKey(key)) {
        issues.add(fieldPath(pathOf(next), key), 'must not be used as a name');
      } else if (typeof member === 'object' && member !== null) {
        pending.push({ value: member, depth: depth + 1, key, parent: next });
      }
    }
  }
}

function pathOf({ parent, key }: Pending): string {
  return parent === undefined ? '' : fieldPath(pathOf(parent), key);
}

function membersOf(value: object): Iterable<readonly [string | number, unknown]> {
  return Array.isArray(value) ? value.entries() : Object.entries(value);
}

/** One entry of `servedSets`. What comes back is whole only if no errors were added. */
async function readServedSet(
  reader: DocumentReader,
  input: unknown,
  path: string,
  readDiscovery: ReadDiscovery,
  slice: TimeSlice,
): Promise<ServedSet | undefined> {
  const given = isJsonObject(input) ? input['discovery'] : undefined;
  const discovery =
    given === undefined ? undefined : await readDiscovery(given, fieldPath(path, 'discovery'));
  await slice.rest();

  const readHash = reader.value(storageVersionHash);
  /** By resource, as `storageVersionName` writes it. */
  const byResource = <Value>(readValue: Read<Value>) =>
    reader.record(snapshotLimits.resources, storageVersionNameIssue, readValue);
  /** By resource, then by API version. */
  const byResourceAndVersion = <Value>(readValue: Read<Value>) =>
    byResource(reader.record(snapshotLimits.versions, versionIssue, readValue));
  const readSet = reader.object(
    { storageVersions: byResource(reader.value(servedVersions)) },
    {
      subresources: byResourceAndVersion(reader.value(subresourceNames)),
      storageVersionHashes: byResource(readHash),
      schemas: byResourceAndVersion(readHash),
      undecodableVersions: byResource(reader.value(groupVersions)),
      discovery: () => discovery,
      openapiV3: reader.record(snapshotLimits.documents, documentPathIssue, reader.value(serverRelativeURL)),
    },
  );
  return readSet(input, path);
}

/** What is wrong with a set by itself; nothing, if a snapshot can hold it. */
export async function servedSetIssues(set: ServedSet): Promise<readonly DocumentIssue[]> {
  const issues = new IssueList();
  const reader = new DocumentReader(issues);
  const slice = createTimeSlice();
  await readServedSet(reader, set, '', await discoveryReader(reader, undefined, slice), slice);
  return issues.toArray();
}

/** Upstream's rule for the name of a StorageVersion (pkg/apis/apiserverinternal/validation). */
export function storageVersionNameIssue(name: string): string | undefined {
  const parsed = parseStorageVersionName(name);
  if (parsed === undefined) return 'must be named <group>.<resource>, the legacy group written core';
  // core has become the empty group.
  if (parsed.group !== '' && !isDns1123Subdomain(parsed.group)) {
    return 'must begin with an API group, a DNS subdomain in lower case';
  }
  return isDns1035Label(parsed.resource) ? undefined : 'must end in a resource name, an RFC 1035 label';
}

function versionIssue(version: string): string | undefined {
  return isDns1035Label(version) ? undefined : 'must be an API version such as v1 or v2beta1';
}

export function documentPathIssue(path: string): string | undefined {
  return path !== '' && !path.startsWith('/') && path.length <= snapshotLimits.text && isVisibleAscii(path)
    ? undefined
    : 'must be a path without its leading slash, such as apis/batch/v1';
}

export type ReadDiscovery = (input: unknown, path: string) => Promise<APIGroupDiscovery[]>;

/**
 * Reads the discovery of sets, whose groups stand in them or, once for all, in `discoveryGroups`.
 * @param pool `discoveryGroups`; `undefined` in a snapshot that is not packed
 */
async function discoveryReader(
  reader: DocumentReader,
  pool: unknown,
  slice: TimeSlice,
): Promise<ReadDiscovery> {
  const readGroup = groupReader(reader);
  /** Snapshots in memory hold one object for a group that several sets have: it is read once. */
  const known = new Map<object, APIGroupDiscovery>();

  function readOnce(input: unknown, path: string): APIGroupDiscovery | undefined {
    const isObject = typeof input === 'object' && input !== null;
    const before = isObject ? known.get(input) : undefined;
    if (before !== undefined) return before;
    const issues = reader.issues.count;
    const group = readGroup(input, path);
    if (isObject && group !== undefined && reader.issues.count === issues) known.set(input, group);
    return group;
  }

  const pooled: (APIGroupDiscovery | undefined)[] = [];
  const places = pool === undefined ? [] : placed(snapshotLimits.pooledGroups)(pool, 'discoveryGroups');
  for (const { item, path } of places) {
    pooled.push(readOnce(item, path));
    await slice.rest();
  }

  function readPlace(place: number, path: string): APIGroupDiscovery | undefined {
    if (!Number.isInteger(place) || place < 0 || place >= pooled.length) {
      reader.issues.add(path, `must be a group, or its place in discoveryGroups, which has ${pooled.length}`);
    }
    return pooled[place];
  }

  function placed(maximum: number) {
    return reader.list(maximum, (item, path) => ({ item, path }));
  }

  return async (input, path) => {
    const groups: APIGroupDiscovery[] = [];
    for (const { item, path: groupPath } of placed(snapshotLimits.groups)(input, path)) {
      const group = typeof item === 'number' ? readPlace(item, groupPath) : readOnce(item, groupPath);
      if (group !== undefined) groups.push(group);
      await slice.rest();
    }
    return groups;
  };
}

function groupReader(reader: DocumentReader): Read<APIGroupDiscovery> {
  const readVersion = reader.object(
    { version: reader.value(versionName) },
    {
      resources: reader.list(snapshotLimits.resources, reader.value(resourceDiscovery)),
      freshness: reader.value(freshness),
    },
  );
  return reader.object(
    { metadata: reader.value(groupMetadata) },
    { versions: reader.list(snapshotLimits.versions, readVersion) },
  );
}
