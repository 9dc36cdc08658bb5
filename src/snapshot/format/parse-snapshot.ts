import type * as v from 'valibot';
import type { APIGroupDiscovery, APIVersionDiscovery } from '../../apimachinery/discovery-types.ts';
import { parseLargeJson } from '../../runtime/large-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import {
  type DocumentIssue,
  expected,
  fieldPath,
  IssueList,
  isJsonObject,
  quoted,
  readValue,
} from '../../runtime/validation.ts';
import { snapshotLimits } from './limits.ts';
import {
  apiService,
  apiVersion,
  customResourceGroup,
  documentPathIssue,
  freshness,
  groupMetadata,
  groupVersions,
  isPrototypeKey,
  kind,
  metadata,
  nameIssue,
  prototypeKeyIssue,
  resourceDiscovery,
  type ServedSet,
  type Snapshot,
  type SnapshotApiService,
  type SnapshotServer,
  servedVersions,
  server,
  serverRelativeURL,
  setKeyIssue,
  storageVersionHash,
  storageVersionNameIssue,
  subresourceNames,
  versionIssue,
  versionName,
} from './schema.ts';
import { groupText, servedSetKey } from './served-set-key.ts';

type ParseSnapshotResult =
  | { readonly ok: true; readonly snapshot: Snapshot }
  /** The first hundred errors, each with its path; where there are more, a last entry says how many. */
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

// What has been checked, each as the very object that it came back as.
const checkedSets = new WeakMap<object, { readonly key: string; readonly set: ServedSet }>();
const checkedGroups = new WeakMap<object, APIGroupDiscovery>();
const checkedApiServices = new WeakMap<object, SnapshotApiService[]>();
const checkedCustomResources = new WeakMap<object, v.InferOutput<typeof customResourceGroup>[]>();

function checkedBefore<Value>(checked: WeakMap<object, Value>, input: unknown): Value | undefined {
  return typeof input === 'object' && input !== null ? checked.get(input) : undefined;
}

/**
 * Reads a snapshot as JSON text, at most 8 MiB of it (`snapshotLimits.bytes`, counted as UTF-8).
 * Never throws for bad input.
 *
 * @param previous one that was checked: sets of its keys are taken from it without being looked at, and groups of the same
 *   text without being parsed
 */
export async function parseSnapshotText(text: string, previous?: Snapshot): Promise<ParseSnapshotResult> {
  if (!fitsInBytes(text, snapshotLimits.bytes)) {
    return { ok: false, issues: [{ path: '', message: `is larger than ${snapshotLimits.bytes} bytes` }] };
  }
  const sets = new Map(Object.entries(previous?.servedSets ?? {}));
  const groups = new Map(
    [...sets.values()].flatMap(({ discovery = [] }) => discovery).map((group) => [groupText(group), group]),
  );
  const group = (itsText: string) => groups.get(itsText);
  const known = new Map<string, (key: string) => object | undefined>([
    ['servedSets', (key) => sets.get(key)],
    ['discoveryGroups', group],
    ['discovery', group],
  ]);
  const parsed = await parseLargeJson(text, snapshotLimits.depth, createTimeSlice(), known);
  return parsed.ok ? parseSnapshot(parsed.value) : { ok: false, issues: [parsed.issue] };
}

function fitsInBytes(text: string, limit: number): boolean {
  // UTF-8 takes one to three bytes for each UTF-16 code unit: mostly the length alone decides.
  if (text.length > limit) return false;
  return text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit;
}

/**
 * Checks a snapshot, the whole of it: shape, names, limits, references between its parts, and that each
 * set's key is the hash of its content. Strict: an unknown field is an error. Never throws for bad
 * input. Both forms are read: the plain one and, as it is signed, the packed one (`snapshotText`); what comes back
 * is plain, with groups that several sets hold as one object. What came back before is not checked again.
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
  const snapshot = await new SnapshotReader(issues, createTimeSlice()).snapshot(input);
  return snapshot === undefined ? { ok: false, issues: issues.toArray() } : { ok: true, snapshot };
}

/** What is wrong with a set by itself; nothing, if a snapshot can hold it. */
export async function servedSetIssues(set: ServedSet): Promise<readonly DocumentIssue[]> {
  const issues = new IssueList();
  await new SnapshotReader(issues, createTimeSlice()).setAlone(set);
  return issues.toArray();
}

type Read<Value> = (input: unknown, path: string) => Value | undefined | Promise<Value | undefined>;
type KeyIssue = (key: string) => string | undefined;

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

const setMembers = [
  'storageVersions',
  'subresources',
  'storageVersionHashes',
  'schemas',
  'undecodableVersions',
  'discovery',
  'openapiV3',
] as const;

/** Reads a snapshot in small pieces, each against its own schema. Collects all errors, and rests in between. */
class SnapshotReader {
  readonly #issues: IssueList;
  readonly #slice: TimeSlice;
  #characters = 0;

  constructor(issues: IssueList, slice: TimeSlice) {
    this.#issues = issues;
    this.#slice = slice;
  }

  async snapshot(input: unknown): Promise<Snapshot | undefined> {
    const document = this.#members(input, '', members);
    if (document === undefined) return undefined;
    const readApiVersion = this.#read(apiVersion, document.apiVersion, 'apiVersion');
    const readKind = this.#read(kind, document.kind, 'kind');
    const readMetadata = this.#read(metadata, document.metadata, 'metadata');
    const servers = await this.#list(
      document.servers,
      'servers',
      snapshotLimits.servers,
      this.#serverReader(document.servedSets),
    );
    // A control plane without servers responds to no one, so this snapshot cannot have been made of one.
    if (Array.isArray(document.servers) && document.servers.length === 0) {
      this.#issues.add('servers', 'must list at least one server');
    }
    const servedSets = await this.#servedSets(document.servedSets, document.discoveryGroups);
    const apiServices = await this.#listOnce(
      checkedApiServices,
      document.apiServices,
      'apiServices',
      this.#apiServiceReader(),
    );
    const customResourceGroups = await this.#listOnce(
      checkedCustomResources,
      document.customResourceGroups,
      'customResourceGroups',
      this.#value(customResourceGroup),
    );
    if (
      !this.#issues.isEmpty ||
      readApiVersion === undefined ||
      readKind === undefined ||
      readMetadata === undefined
    ) {
      return undefined;
    }
    return {
      apiVersion: readApiVersion,
      kind: readKind,
      metadata: readMetadata,
      servers,
      servedSets,
      apiServices,
      customResourceGroups,
    };
  }

  async setAlone(input: unknown): Promise<void> {
    await this.#set(input, '', '', (group, path) => this.#group(group, path));
  }

  #serverReader(servedSets: unknown): Read<SnapshotServer> {
    const paths = new Map<string, string>();
    return (input, path) => {
      const read = this.#read(server, input, path);
      if (read === undefined) return undefined;
      const { id, serves } = read;
      const first = paths.get(id);
      if (first === undefined) paths.set(id, path);
      else this.#issues.add(`${path}.id`, `must be unique: ${quoted(id)} is also the id of ${first}`);
      if (isJsonObject(servedSets) && !Object.hasOwn(servedSets, serves)) {
        this.#issues.add(`${path}.serves`, `must be a key of servedSets; there is no ${quoted(serves)}`);
      }
      return read;
    };
  }

  #apiServiceReader(): Read<SnapshotApiService> {
    const paths = new Map<string, string>();
    return (input, path) => {
      const read = this.#read(apiService, input, path);
      if (read === undefined) return undefined;
      // The name of the APIService object, which upstream requires to be spelled like this.
      const name = `${read.version}.${read.group}`;
      const first = paths.get(name);
      if (first === undefined) paths.set(name, path);
      else this.#issues.add(path, `must be unique: the APIService ${quoted(name)} is also ${first}`);
      return read;
    };
  }

  /** @param pool `discoveryGroups`; `undefined` in a snapshot that is not packed */
  async #servedSets(input: unknown, pool: unknown): Promise<Record<string, ServedSet>> {
    /** Snapshots in memory hold one object for a group that several sets have: it is read once. */
    const groups = new Map<unknown, APIGroupDiscovery>();
    const readGroup = async (given: unknown, path: string): Promise<APIGroupDiscovery | undefined> => {
      const group =
        groups.get(given) ?? checkedBefore(checkedGroups, given) ?? (await this.#group(given, path));
      if (group !== undefined) groups.set(given, group);
      return group;
    };
    const pooled =
      pool === undefined
        ? []
        : await this.#list(pool, 'discoveryGroups', snapshotLimits.pooledGroups, async (given, path) => ({
            group: await readGroup(given, path),
          }));
    const readPlaceOrGroup: Read<APIGroupDiscovery> = (given, path) => {
      if (typeof given !== 'number') return readGroup(given, path);
      const place = pooled[given];
      if (place === undefined) {
        const range = `which has ${pooled.length}`;
        this.#issues.add(path, `must be a group, or its place in discoveryGroups, ${range}`);
      }
      return place?.group;
    };
    const { servedSets: maximum } = snapshotLimits;
    return this.#record(input, 'servedSets', maximum, setKeyIssue, async (given, path, key) => {
      const before = checkedBefore(checkedSets, given);
      if (before?.key !== key) return this.#set(given, path, key, readPlaceOrGroup);
      return (await this.#fits(before.set)) ? before.set : undefined;
    });
  }

  async #set(
    input: unknown,
    path: string,
    key: string,
    readGroup: Read<APIGroupDiscovery>,
  ): Promise<ServedSet | undefined> {
    const issuesBefore = this.#issues.count;
    const given = this.#members(input, path, setMembers);
    if (given === undefined) return undefined;
    const record = <Value>(name: (typeof setMembers)[number], keyIssue: KeyIssue, readValue: Read<Value>) => {
      const { resources, documents } = snapshotLimits;
      const maximum = name === 'openapiV3' ? documents : resources;
      return this.#record(given[name], fieldPath(path, name), maximum, keyIssue, readValue);
    };
    /** By resource, as `storageVersionName` writes it. */
    const byResource = <Value>(name: (typeof setMembers)[number], readValue: Read<Value>) =>
      record(name, storageVersionNameIssue, readValue);
    /** By resource, then by API version. */
    const byVersion = <Value>(name: (typeof setMembers)[number], readValue: Read<Value>) =>
      byResource(name, (each, itsPath) =>
        this.#record(each, itsPath, snapshotLimits.versions, versionIssue, readValue),
      );
    const hash = this.#value(storageVersionHash);
    const set: ServedSet = {
      ...(given.discovery !== undefined && {
        discovery: await this.#list(
          given.discovery,
          fieldPath(path, 'discovery'),
          snapshotLimits.groups,
          readGroup,
        ),
      }),
      storageVersions: await byResource('storageVersions', this.#value(servedVersions)),
      ...(given.subresources !== undefined && {
        subresources: await byVersion('subresources', this.#value(subresourceNames)),
      }),
      ...(given.storageVersionHashes !== undefined && {
        storageVersionHashes: await byResource('storageVersionHashes', hash),
      }),
      ...(given.schemas !== undefined && { schemas: await byVersion('schemas', hash) }),
      ...(given.undecodableVersions !== undefined && {
        undecodableVersions: await byResource('undecodableVersions', this.#value(groupVersions)),
      }),
      ...(given.openapiV3 !== undefined && {
        openapiV3: await record('openapiV3', documentPathIssue, this.#value(serverRelativeURL)),
      }),
    };
    // The hash of an invalid set is not compared: a second error would not help.
    const isWhole = this.#issues.count === issuesBefore && setKeyIssue(key) === undefined;
    if (!isWhole || !(await this.#fits(set))) return undefined;
    const wanted = await servedSetKey(set, this.#slice);
    if (key === wanted) checkedSets.set(set, { key, set });
    else this.#issues.add(path, `must be named by the hash of its content, ${wanted}`);
    return set;
  }

  /** Whether the sets until this one, with everything that they share written out for each, are small enough. */
  async #fits({ discovery = [] }: ServedSet): Promise<boolean> {
    const { unpacked } = snapshotLimits;
    const isFirst = this.#characters <= unpacked;
    for (const group of discovery) {
      this.#characters += groupText(group).length;
      await this.#slice.rest();
    }
    if (this.#characters <= unpacked) return true;
    if (isFirst) this.#issues.add('servedSets', `must not stand for more than ${unpacked} characters`);
    return false;
  }

  async #group(input: unknown, path: string): Promise<APIGroupDiscovery | undefined> {
    const issuesBefore = this.#issues.count;
    const given = this.#members(input, path, ['metadata', 'versions']);
    if (given === undefined) return undefined;
    const metadata = this.#read(groupMetadata, given.metadata, `${path}.metadata`);
    const versions =
      given.versions === undefined
        ? undefined
        : await this.#list(given.versions, `${path}.versions`, snapshotLimits.versions, (each, itsPath) =>
            this.#version(each, itsPath),
          );
    if (metadata === undefined || this.#issues.count > issuesBefore) return undefined;
    const group = versions === undefined ? { metadata } : { metadata, versions };
    checkedGroups.set(group, group);
    return group;
  }

  async #version(input: unknown, path: string): Promise<APIVersionDiscovery | undefined> {
    const given = this.#members(input, path, ['version', 'resources', 'freshness']);
    const version = this.#read(versionName, given?.version, `${path}.version`);
    if (given === undefined || version === undefined) return undefined;
    const resources =
      given.resources === undefined
        ? undefined
        : await this.#list(
            given.resources,
            `${path}.resources`,
            snapshotLimits.resources,
            this.#value(resourceDiscovery),
          );
    const isFresh =
      given.freshness === undefined ? undefined : this.#read(freshness, given.freshness, `${path}.freshness`);
    return {
      version,
      ...(resources === undefined ? {} : { resources }),
      ...(isFresh === undefined ? {} : { freshness: isFresh }),
    };
  }

  #value<Schema extends v.GenericSchema>(schema: Schema): Read<v.InferOutput<Schema>> {
    return (input, path) => this.#read(schema, input, path);
  }

  #read<Schema extends v.GenericSchema>(
    schema: Schema,
    input: unknown,
    path: string,
  ): v.InferOutput<Schema> | undefined {
    const way = wayToPrototypeKey(input);
    if (way === undefined) return readValue(schema, input, path, this.#issues);
    this.#issues.add(way.reduce(fieldPath, path), prototypeKeyIssue);
    return undefined;
  }

  /** The members of an object that has these and no others. */
  #members<Key extends string>(
    input: unknown,
    path: string,
    known: readonly Key[],
  ): Readonly<Partial<Record<Key, unknown>>> | undefined {
    if (!this.#isObject(input, path)) return undefined;
    const names: ReadonlySet<string> = new Set(known);
    for (const key of Object.keys(input)) {
      if (names.has(key)) continue;
      this.#issues.add(fieldPath(path, key), nameIssue(key) ?? 'is not a field of this object');
    }
    return input as Readonly<Partial<Record<Key, unknown>>>;
  }

  /** The items that `readItem` could read. */
  async #list<Item>(input: unknown, path: string, maximum: number, readItem: Read<Item>): Promise<Item[]> {
    if (!Array.isArray(input) || input.length > maximum) {
      const actual = Array.isArray(input)
        ? `must have at most ${maximum} items, not ${input.length}`
        : 'must be an array';
      this.#issues.add(path, input === undefined ? 'is required' : actual);
      return [];
    }
    const items: Item[] = [];
    for (const [index, value] of input.entries()) {
      const item = await readItem(value, fieldPath(path, index));
      if (item !== undefined) items.push(item);
      await this.#slice.rest();
    }
    return items;
  }

  /** As `#list`, without a look at one that was checked before. */
  async #listOnce<Item>(
    checked: WeakMap<object, Item[]>,
    input: unknown,
    path: 'apiServices' | 'customResourceGroups',
    readItem: Read<Item>,
  ): Promise<Item[]> {
    const before = checkedBefore(checked, input);
    if (before !== undefined) return before;
    const issuesBefore = this.#issues.count;
    const items = await this.#list(input, path, snapshotLimits[path], readItem);
    if (this.#issues.count === issuesBefore) checked.set(items, items);
    return items;
  }

  /** The entries of a map that `readEntry` could read. @param keyIssue the error of a key, if it has one */
  async #record<Value>(
    input: unknown,
    path: string,
    maximum: number,
    keyIssue: KeyIssue,
    readEntry: (input: unknown, path: string, key: string) => ReturnType<Read<Value>>,
  ): Promise<Record<string, Value>> {
    const entries = this.#isObject(input, path) ? Object.entries(input) : [];
    if (entries.length > maximum) {
      this.#issues.add(path, `must have at most ${maximum} entries, not ${entries.length}`);
      return {};
    }
    const result: [string, Value][] = [];
    for (const [key, value] of entries) {
      const entryPath = fieldPath(path, key);
      const issue = nameIssue(key) ?? keyIssue(key);
      if (issue !== undefined) this.#issues.add(entryPath, issue);
      const read = isPrototypeKey(key) ? undefined : await readEntry(value, entryPath, key);
      if (read !== undefined) result.push([key, read]);
      await this.#slice.rest();
    }
    return Object.fromEntries(result);
  }

  #isObject(input: unknown, path: string): input is Readonly<Record<string, unknown>> {
    if (isJsonObject(input)) return true;
    const actual = path === '' ? 'must be an object' : expected('an object')({ input });
    this.#issues.add(path, actual);
    return false;
  }
}

/** The way to the first member that is named like a part of a prototype, which no schema sees. */
function wayToPrototypeKey(value: unknown, depth = 0): readonly (string | number)[] | undefined {
  // No schema of a piece looks deeper.
  if (typeof value !== 'object' || value === null || depth > 8) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (isPrototypeKey(key)) return [key];
    const below = wayToPrototypeKey(member, depth + 1);
    if (below !== undefined) return [Array.isArray(value) ? Number(key) : key, ...below];
  }
  return undefined;
}
