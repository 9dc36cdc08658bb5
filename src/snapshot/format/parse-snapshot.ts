import type * as v from 'valibot';
import type { APIGroupDiscovery, APIVersionDiscovery } from '../../apimachinery/discovery-types.ts';
import { parseLargeJson } from '../../runtime/large-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import { type DocumentIssue, fieldPath, IssueList, isJsonObject, quoted } from '../../runtime/validation.ts';
import { snapshotLimits } from './limits.ts';
import {
  apiService,
  apiVersion,
  customResourceGroup,
  documentPathIssue,
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
  setKeyIssue,
  storageVersionHash,
  storageVersionNameIssue,
  subresourceNames,
  versionIssue,
  versionName,
} from './schema.ts';
import { groupText, type PackedSet, servedSetKey } from './served-set-key.ts';
import { type KeyIssue, type Read, StrictReader } from './strict-reader.ts';

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
 * @param setsText the sets, as the function of that name writes them, if `text` has none; the same limit
 * @param previous a checked snapshot: its sets need not be there again, and others may be given as their difference from one
 */
export async function parseSnapshotText(
  text: string,
  setsText?: string,
  previous?: Snapshot,
): Promise<ParseSnapshotResult> {
  const slice = createTimeSlice();
  const values: unknown[] = [];
  for (const each of setsText === undefined ? [text] : [text, setsText]) {
    if (!fitsInBytes(each, snapshotLimits.bytes)) {
      return { ok: false, issues: [{ path: '', message: `is larger than ${snapshotLimits.bytes} bytes` }] };
    }
    const parsed = await parseLargeJson(each, snapshotLimits.depth, slice);
    if (!parsed.ok) return { ok: false, issues: [parsed.issue] };
    values.push(parsed.value);
  }
  const [head, servedSets] = values;
  const whole = servedSets !== undefined && isJsonObject(head) ? { servedSets, ...head } : head;
  return parseSnapshot(whole, previous);
}

function fitsInBytes(text: string, limit: number): boolean {
  // UTF-8 takes one to three bytes for each UTF-16 code unit: mostly the length alone decides.
  if (text.length > limit) return false;
  return text.length * 3 <= limit || new TextEncoder().encode(text).length <= limit;
}

/**
 * Checks a snapshot, the whole of it: shape, names, limits, references between its parts, and that each
 * set's key is the hash of its content. Strict: an unknown field is an error. Never throws for bad
 * input. A set may be whole, or the difference from another one (`setsText`). The result has whole sets, and those alone
 * that a server serves; equal parts of several sets are one object. What an earlier call has returned is not checked again.
 *
 * @param input a value as `JSON.parse` makes it. It must not change until the result is there.
 * @param previous as of `parseSnapshotText`
 *
 * @example
 * ```ts
 * const result = await parseSnapshot({ kind: 'StorageVersionSnapshot' });
 * if (!result.ok) console.log(result.issues.length > 0); // true
 * ```
 */
export async function parseSnapshot(input: unknown, previous?: Snapshot): Promise<ParseSnapshotResult> {
  const issues = new IssueList();
  const snapshot = await new SnapshotReader(issues, createTimeSlice(), previous).snapshot(input);
  return snapshot === undefined ? { ok: false, issues: issues.toArray() } : { ok: true, snapshot };
}

type CheckedSet =
  | { readonly ok: true; readonly key: string; readonly set: ServedSet }
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

/**
 * Checks a set by itself, and gives it its key. It comes back as it would from a snapshot, and is not checked again there.
 * @param base one that was checked, where `set` is what differs from it
 */
export async function checkServedSet(
  set: PackedSet,
  base?: readonly [key: string, set: ServedSet],
): Promise<CheckedSet> {
  const issues = new IssueList();
  const checked = await new SnapshotReader(issues, createTimeSlice()).setAlone(set, base);
  return checked === undefined ? { ok: false, issues: issues.toArray() } : { ok: true, ...checked };
}

const members = [
  'apiVersion',
  'kind',
  'metadata',
  'servers',
  'servedSets',
  'apiServices',
  'customResourceGroups',
] as const;

const setMembers = [
  'base',
  'storageVersions',
  'subresources',
  'storageVersionHashes',
  'schemas',
  'undecodableVersions',
  'discovery',
  'openapiV3',
] as const;

/** What an entry of a set's map counts in `snapshotLimits.unpacked`: a set that differs in one entry has a map of its own. */
const entryCharacters = 16;

class SnapshotReader extends StrictReader {
  /** Sets by key: of the snapshot before, and read from this one. */
  readonly #held: ReadonlyMap<string, ServedSet>;
  readonly #sets = new Map<string, ServedSet>();
  /** A group that several sets have is read once. In memory the sets share its object, in JSON they repeat its text. */
  readonly #groups = new Map<unknown, APIGroupDiscovery>();
  readonly #groupsByText = new Map<string, APIGroupDiscovery>();
  #hasSeveralSets = false;
  #characters = 0;

  constructor(issues: IssueList, slice: TimeSlice, previous?: Snapshot) {
    super(issues, slice);
    this.#held = new Map(Object.entries(previous?.servedSets ?? {}));
  }

  async snapshot(input: unknown): Promise<Snapshot | undefined> {
    const document = this.members(input, '', members);
    if (document === undefined) return undefined;
    const readApiVersion = this.read(apiVersion, document.apiVersion, 'apiVersion');
    const readKind = this.read(kind, document.kind, 'kind');
    const readMetadata = this.read(metadata, document.metadata, 'metadata');
    const servers = await this.list(
      document.servers,
      'servers',
      snapshotLimits.servers,
      this.#serverReader(document.servedSets),
    );
    // A control plane without servers responds to no one, so this snapshot cannot have been made of one.
    if (Array.isArray(document.servers) && document.servers.length === 0) {
      this.issues.add('servers', 'must list at least one server');
    }
    if (document.servedSets !== undefined || this.#held.size === 0) await this.#readSets(document.servedSets);
    const served = new Set(servers.map(({ serves }) => serves));
    const kept = [...this.#held].filter(([key]) => served.has(key));
    for (const [, set] of kept) await this.#fits(set);
    const read = [...this.#sets].filter(([key]) => served.has(key) && !this.#held.has(key));
    // Those that are held stand first: the others were sent as what differs from them.
    const servedSets = Object.fromEntries([...kept, ...read]);
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
      this.value(customResourceGroup),
    );
    if (
      !this.issues.isEmpty ||
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

  setAlone(
    set: PackedSet,
    base?: readonly [key: string, set: ServedSet],
  ): Promise<{ readonly key: string; readonly set: ServedSet } | undefined> {
    if (base !== undefined) this.#sets.set(...base);
    return this.#set(set, '');
  }

  #serverReader(servedSets: unknown): Read<SnapshotServer> {
    const paths = new Map<string, string>();
    return (input, path) => {
      const read = this.read(server, input, path);
      if (read === undefined) return undefined;
      const { id, serves } = read;
      const first = paths.get(id);
      if (first === undefined) paths.set(id, path);
      else this.issues.add(`${path}.id`, `must be unique: ${quoted(id)} is also the id of ${first}`);
      const isGiven = isJsonObject(servedSets) ? Object.hasOwn(servedSets, serves) : this.#held.size === 0;
      if (!isGiven && !this.#held.has(serves)) {
        this.issues.add(`${path}.serves`, `must be a key of servedSets; there is no ${quoted(serves)}`);
      }
      return read;
    };
  }

  #apiServiceReader(): Read<SnapshotApiService> {
    const paths = new Map<string, string>();
    return (input, path) => {
      const read = this.read(apiService, input, path);
      if (read === undefined) return undefined;
      // The name of the APIService object, which upstream requires to be spelled like this.
      const name = `${read.version}.${read.group}`;
      const first = paths.get(name);
      if (first === undefined) paths.set(name, path);
      else this.issues.add(path, `must be unique: the APIService ${quoted(name)} is also ${first}`);
      return read;
    };
  }

  async #readSets(input: unknown): Promise<void> {
    this.#hasSeveralSets = isJsonObject(input) && Object.keys(input).length > 1;
    await this.record(
      input,
      'servedSets',
      snapshotLimits.servedSets,
      setKeyIssue,
      async (given, path, key) => {
        const before = checkedBefore(checkedSets, given);
        const isSame = before?.key === key && (await this.#fits(before.set));
        const read = isSame ? before : await this.#set(given, path);
        if (read === undefined || setKeyIssue(key) !== undefined) return;
        if (read.key === key) this.#sets.set(key, read.set);
        else this.issues.add(path, `must be named by the hash of its content, ${read.key}`);
      },
    );
  }

  async #set(
    input: unknown,
    path: string,
  ): Promise<{ readonly key: string; readonly set: ServedSet } | undefined> {
    const issuesBefore = this.issues.count;
    const given = this.members(input, path, setMembers);
    if (given === undefined) return undefined;
    const baseKey = String(given.base);
    const base = this.#sets.get(baseKey) ?? this.#held.get(baseKey);
    if (given.base !== undefined && base === undefined) {
      this.issues.add(fieldPath(path, 'base'), 'must be the key of a set before it, or of one that is held');
      return undefined;
    }
    /** A member that is left out is as in the base. `null` takes away what the base has. */
    const member = async <Value>(
      name: Exclude<(typeof setMembers)[number], 'base'>,
      inBase: Value | undefined,
      read: (input: unknown, itsPath: string) => Promise<Value>,
    ): Promise<Value | undefined> => {
      const value = given[name];
      const isNeeded = name === 'storageVersions';
      if (base !== undefined && value === null && !isNeeded) return undefined;
      if (value === undefined && (inBase !== undefined || !isNeeded)) return inBase;
      return read(value, fieldPath(path, name));
    };
    const record = <Value>(
      name: Exclude<(typeof setMembers)[number], 'base'>,
      inBase: Readonly<Record<string, Value>> | undefined,
      keyIssue: KeyIssue,
      readValue: Read<Value>,
    ) =>
      member(name, inBase, async (value, itsPath) => {
        const maximum = snapshotLimits[name === 'openapiV3' ? 'documents' : 'resources'];
        if (inBase === undefined) return this.record(value, itsPath, maximum, keyIssue, readValue);
        const changes = await this.record<Value | null>(value, itsPath, maximum, keyIssue, (each, place) =>
          each === null ? null : readValue(each, place),
        );
        const whole = new Map(Object.entries(inBase));
        for (const [key, change] of Object.entries(changes)) {
          if (change === null) whole.delete(key);
          else whole.set(key, change);
        }
        if (whole.size > maximum) this.issues.add(itsPath, `must not come to more than ${maximum} entries`);
        return Object.fromEntries(whole);
      });
    /** By resource, as `storageVersionName` writes it, then by API version. */
    const byVersion = <Value>(readValue: Read<Value>): Read<Record<string, Value>> => {
      return (each, itsPath) => this.record(each, itsPath, snapshotLimits.versions, versionIssue, readValue);
    };
    const hash = this.value(storageVersionHash);
    const name = storageVersionNameIssue;
    const discovery = await member('discovery', base?.discovery, (value, itsPath) =>
      this.list(value, itsPath, snapshotLimits.groups, (each, place) =>
        this.#groupOrPlace(each, place, base),
      ),
    );
    const storageVersions = await record(
      'storageVersions',
      base?.storageVersions,
      name,
      this.value(servedVersions),
    );
    const subresources = await record(
      'subresources',
      base?.subresources,
      name,
      byVersion(this.value(subresourceNames)),
    );
    const hashes = await record('storageVersionHashes', base?.storageVersionHashes, name, hash);
    const schemas = await record('schemas', base?.schemas, name, byVersion(hash));
    const undecodableVersions = await record(
      'undecodableVersions',
      base?.undecodableVersions,
      name,
      this.value(groupVersions),
    );
    const openapiV3 = await record(
      'openapiV3',
      base?.openapiV3,
      documentPathIssue,
      this.value(serverRelativeURL),
    );
    // The hash of an invalid set is not compared: a second error would not help.
    if (this.issues.count !== issuesBefore || storageVersions === undefined) return undefined;
    const set: ServedSet = {
      ...(discovery && { discovery }),
      storageVersions,
      ...(subresources && { subresources }),
      ...(hashes && { storageVersionHashes: hashes }),
      ...(schemas && { schemas }),
      ...(undecodableVersions && { undecodableVersions }),
      ...(openapiV3 && { openapiV3 }),
    };
    if (!(await this.#fits(set, base))) return undefined;
    const checked = { key: await servedSetKey(set, this.slice), set };
    checkedSets.set(set, checked);
    return checked;
  }

  #groupOrPlace(
    given: unknown,
    path: string,
    base: ServedSet | undefined,
  ): APIGroupDiscovery | undefined | Promise<APIGroupDiscovery | undefined> {
    if (typeof given !== 'number') {
      return this.#groups.get(given) ?? checkedBefore(checkedGroups, given) ?? this.#groupByText(given, path);
    }
    const group = base?.discovery?.[given];
    if (group === undefined) {
      const range = `which has ${base?.discovery?.length ?? 0}`;
      this.issues.add(path, `must be a group, or the place of one in the base, ${range}`);
    }
    return group;
  }

  #groupByText(given: unknown, path: string): APIGroupDiscovery | Promise<APIGroupDiscovery | undefined> {
    const text = this.#hasSeveralSets ? textOf(given) : undefined;
    if (text === undefined) return this.#group(given, path);
    return (
      this.#groupsByText.get(text) ??
      this.#group(given, path).then((group) => {
        if (group !== undefined) this.#groupsByText.set(text, group);
        return group;
      })
    );
  }

  /** Whether the sets until this one, with everything that they share written out for each, are small enough. */
  async #fits(set: ServedSet, base?: ServedSet): Promise<boolean> {
    const { unpacked } = snapshotLimits;
    const isFirst = this.#characters <= unpacked;
    for (const group of set.discovery ?? []) {
      this.#characters += groupText(group).length;
      await this.slice.rest();
    }
    const { discovery: _discovery, ...maps } = set;
    const ofBase = new Set<unknown>(Object.values(base ?? {}));
    const own = Object.values(maps).filter((map) => !ofBase.has(map));
    for (const map of own) this.#characters += entryCharacters * Object.keys(map ?? {}).length;
    if (this.#characters <= unpacked) return true;
    if (isFirst) this.issues.add('servedSets', `must not stand for more than ${unpacked} characters`);
    return false;
  }

  async #group(input: unknown, path: string): Promise<APIGroupDiscovery | undefined> {
    const issuesBefore = this.issues.count;
    const given = this.members(input, path, ['metadata', 'versions']);
    if (given === undefined) return undefined;
    const metadata = this.read(groupMetadata, given.metadata, `${path}.metadata`);
    const versions =
      given.versions === undefined
        ? undefined
        : await this.list(given.versions, `${path}.versions`, snapshotLimits.versions, (each, itsPath) =>
            this.#version(each, itsPath),
          );
    if (metadata === undefined || this.issues.count > issuesBefore) return undefined;
    const group = versions === undefined ? { metadata } : { metadata, versions };
    checkedGroups.set(group, group);
    this.#groups.set(input, group);
    return group;
  }

  async #version(input: unknown, path: string): Promise<APIVersionDiscovery | undefined> {
    const given = this.members(input, path, ['version', 'resources', 'freshness']);
    const version = this.read(versionName, given?.version, `${path}.version`);
    if (given === undefined || version === undefined) return undefined;
    const resources =
      given.resources === undefined
        ? undefined
        : await this.list(
            given.resources,
            `${path}.resources`,
            snapshotLimits.resources,
            this.value(resourceDiscovery),
          );
    const isFresh =
      given.freshness === undefined ? undefined : this.read(freshness, given.freshness, `${path}.freshness`);
    return {
      version,
      ...(resources === undefined ? {} : { resources }),
      ...(isFresh === undefined ? {} : { freshness: isFresh }),
    };
  }

  /** As `list`, without a look at one that was checked before. */
  async #listOnce<Item>(
    checked: WeakMap<object, Item[]>,
    input: unknown,
    path: 'apiServices' | 'customResourceGroups',
    readItem: Read<Item>,
  ): Promise<Item[]> {
    const before = checkedBefore(checked, input);
    if (before !== undefined) return before;
    const issuesBefore = this.issues.count;
    const items = await this.list(input, path, snapshotLimits[path], readItem);
    if (this.issues.count === issuesBefore) checked.set(items, items);
    return items;
  }
}

/** @returns `undefined` for what no JSON stands for, such as a cycle */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
