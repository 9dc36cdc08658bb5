import { createTimeSlice, type TimeSlice } from '../../runtime/time-slice.ts';
import { DocumentReader } from './document-reader.ts';
import { fieldPath, IssueList, quoted, type SnapshotIssue } from './issues.ts';
import { parseJsonText } from './json-text.ts';
import { snapshotLimits } from './limits.ts';
import { type GroupReader, groupReader } from './read-discovery.ts';
import { readServedSet } from './read-served-set.ts';
import { apiService, apiVersion, customResourceGroup, kind, metadata, server } from './schema.ts';
import { isJsonObject } from './schema-parts.ts';
import { canonicalTexts, keyOfText, servedSetText } from './shared-groups.ts';
import type { ServedSet, Snapshot, SnapshotApiService, SnapshotServer } from './types.ts';

type ParseSnapshotResult =
  | { readonly ok: true; readonly snapshot: Snapshot }
  /** The first hundred errors, each with its path; where there are more, a last entry says how many. */
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/** A piece of the document, and where it stands. */
interface Placed<Item> {
  readonly item: Item;
  readonly path: string;
}

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
  const document = reader.members(input, '', [
    'apiVersion',
    'kind',
    'metadata',
    'servers',
    'servedSets',
    'discoveryGroups',
    'apiServices',
    'customResourceGroups',
  ]);
  const slice = createTimeSlice();
  const readApiVersion = reader.read(apiVersion, document?.apiVersion, 'apiVersion');
  const readKind = reader.read(kind, document?.kind, 'kind');
  const readMetadata = reader.read(metadata, document?.metadata, 'metadata');
  const servers = reader.list(document?.servers, 'servers', snapshotLimits.servers, (item, path) =>
    reader.read(server, item, path),
  );
  const groups = await groupReader(reader, document?.discoveryGroups, slice);
  const servedSets = await readServedSets(reader, document?.servedSets, groups, slice);
  const apiServices = reader.list(
    document?.apiServices,
    'apiServices',
    snapshotLimits.apiServices,
    (item, path) => reader.read(apiService, item, path),
  );
  const customResourceGroups = reader.list(
    document?.customResourceGroups,
    'customResourceGroups',
    snapshotLimits.customResourceGroups,
    (item, path) => reader.read(customResourceGroup, item, path),
  );
  checkServers(servers, document?.servers, document?.servedSets, issues);
  checkApiServices(apiServices, issues);

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
    servers: servers.map(({ item }) => item),
    servedSets: Object.fromEntries(servedSets),
    apiServices: apiServices.map(({ item }) => item),
    customResourceGroups: customResourceGroups.map(({ item }) => item),
  };
  return { ok: true, snapshot };
}

async function readServedSets(
  reader: DocumentReader,
  input: unknown,
  groups: GroupReader,
  slice: TimeSlice,
): Promise<Map<string, ServedSet>> {
  const keyIssue = (key: string): string | undefined =>
    /^sha256:[0-9a-f]{64}$/.test(key)
      ? undefined
      : 'must be named sha256: and 64 hexadecimal digits in lower case';
  const given = reader.map(input, 'servedSets', snapshotLimits.servedSets, keyIssue, (value, path) => ({
    value,
    path,
  }));
  const textOf = canonicalTexts();
  const sets = new Map<string, ServedSet>();
  let characters = 0;
  for (const [key, { value, path }] of given) {
    const issuesBefore = reader.issues.count;
    const set = await readServedSet(reader, value, path, groups, slice);
    // The hash of an invalid set is not compared: a second error would not help.
    if (set === undefined || reader.issues.count > issuesBefore) continue;
    sets.set(key, set);
    for (const group of set.discovery ?? []) characters += textOf(group).length;
    if (characters > snapshotLimits.unpacked) {
      reader.issues.add('servedSets', `must not stand for more than ${snapshotLimits.unpacked} characters`);
      return sets;
    }
    await slice.rest();
    const wanted = await keyOfText(servedSetText(set, textOf));
    if (key === wanted || keyIssue(key) !== undefined) continue;
    reader.issues.add(fieldPath('servedSets', key), `must be named by the hash of its content, ${wanted}`);
  }
  return sets;
}

function checkServers(
  servers: readonly Placed<SnapshotServer>[],
  givenServers: unknown,
  givenSets: unknown,
  issues: IssueList,
): void {
  // A control plane without servers responds to no one, so this snapshot cannot have been made of one.
  if (Array.isArray(givenServers) && givenServers.length === 0) {
    issues.add('servers', 'must list at least one server');
  }
  const ids = new Map<string, string>();
  for (const { item, path } of servers) {
    const first = ids.get(item.id);
    if (first === undefined) ids.set(item.id, path);
    else issues.add(`${path}.id`, `must be unique: ${quoted(item.id)} is also the id of ${first}`);
    if (isJsonObject(givenSets) && !Object.hasOwn(givenSets, item.serves)) {
      issues.add(`${path}.serves`, `must be a key of servedSets; there is no ${quoted(item.serves)}`);
    }
  }
}

function checkApiServices(apiServices: readonly Placed<SnapshotApiService>[], issues: IssueList): void {
  const groupVersions = new Map<string, string>();
  for (const { item, path } of apiServices) {
    // The name of the APIService object, which upstream requires to be spelled like this.
    const name = `${item.version}.${item.group}`;
    const first = groupVersions.get(name);
    if (first === undefined) groupVersions.set(name, path);
    else issues.add(path, `must be unique: the APIService ${quoted(name)} is also ${first}`);
  }
}

function fitsInBytes(text: string, limit: number): boolean {
  // UTF-8 takes one to three bytes for each UTF-16 code unit: mostly the length alone decides.
  if (text.length > limit) return false;
  return text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit;
}

// `JSON.parse` makes plain members of these names. Copied from object to object by code that does not know
// better, they reach into prototypes; no name of Kubernetes is spelled like this.
const prototypeKeys = new Set(['__proto__', 'constructor', 'prototype']);

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
      if (typeof key === 'string' && prototypeKeys.has(key)) {
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
