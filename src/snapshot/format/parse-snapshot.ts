import type * as v from 'valibot';
import { parseLargeJson } from '../../runtime/large-json.ts';
import { createTimeSlice } from '../../runtime/time.ts';
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
  type APIGroupDiscovery,
  apiService,
  customResourceGroup,
  documentPathIssue,
  groupDiscovery,
  isPrototypeKey,
  nameIssue,
  prototypeKeyIssue,
  resourceDiscovery,
  type ServedSet,
  type Snapshot,
  type SnapshotApiService,
  type SnapshotServer,
  schemaDigests,
  servedVersions,
  server,
  serverRelativeURL,
  setKeyIssue,
  snapshotHead,
  storageVersionHash,
  storageVersionNameIssue,
  subresourcesByVersion,
  versionDiscovery,
} from './schema.ts';
import { groupText, type PackedSet, servedSetKey } from './served-set-key.ts';
import { knownTextsOf } from './stored-sets.ts';

type ParseSnapshotResult =
  | { readonly ok: true; readonly snapshot: Snapshot }
  /** The first hundred errors, each with its path; where there are more, a last entry says how many. */
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

type CheckedSets = Pick<Snapshot, 'servedSets'>;

// Sets and groups that have been checked, each as the very object that it came back as.
const checkedSets = new WeakMap<object, { readonly key: string; readonly set: ServedSet }>();
const checkedGroups = new WeakMap<object, APIGroupDiscovery>();

function checkedBefore<Value>(checked: WeakMap<object, Value>, input: unknown): Value | undefined {
  return typeof input === 'object' && input !== null ? checked.get(input) : undefined;
}

/**
 * Reads a snapshot as JSON text, at most 8 MiB of it (`snapshotLimits.bytes`, counted as UTF-8).
 * Never throws for bad input.
 *
 * @param setsText the sets, as the function of that name writes them, if `text` has none; the same limit
 * @param previous of a checked snapshot: its sets need not be there again, and others may be given as their difference from one
 */
export async function parseSnapshotText(
  text: string,
  setsText?: string,
  previous?: CheckedSets,
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
 * that a server serves. Sets of what an earlier call has returned are not checked again.
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
export async function parseSnapshot(input: unknown, previous?: CheckedSets): Promise<ParseSnapshotResult> {
  const issues = new IssueList();
  const snapshot = await new SnapshotReader(issues, previous).snapshot(input);
  return snapshot === undefined ? { ok: false, issues: issues.toArray() } : { ok: true, snapshot };
}

type CheckedSet =
  | { readonly ok: true; readonly key: string; readonly set: ServedSet }
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

/** Checks a set by itself, and gives it its key. It comes back as it would from a snapshot, and is not checked again there. */
export async function checkServedSet(set: ServedSet): Promise<CheckedSet> {
  const issues = new IssueList();
  const checked = await new SnapshotReader(issues).set(set, '');
  return checked === undefined ? { ok: false, issues: issues.toArray() } : { ok: true, ...checked };
}

type Read<Value> = (input: unknown, path: string) => Value | undefined | Promise<Value | undefined>;

const setMaps = ['storageVersions', 'subresources', 'storageVersionHashes', 'schemas', 'openapiV3'] as const;
const setMembers: ReadonlySet<string> = new Set<keyof PackedSet>(['base', 'discovery', ...setMaps]);

/**
 * Characters that an entry of a set's map counts in `snapshotLimits.unpacked`. A set that differs in one entry has a
 * map of its own.
 */
const entryCharacters = 16;

type SetMember = Exclude<keyof PackedSet, 'base'>;

/** A set that is being read, and the one that it differs from. */
interface SetPlace {
  readonly given: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly base: ServedSet | undefined;
}

/** A map by `<group>.<resource>`. */
const ofResources: { readonly maximum: number; readonly keyIssue: typeof storageVersionNameIssue } = {
  maximum: snapshotLimits.resources,
  keyIssue: storageVersionNameIssue,
};

/**
 * Reads a snapshot in small pieces, each against its own schema, and rests in between. Strict: an unknown member is an error,
 * and so is one that is named like a part of a prototype. Collects all errors.
 */
class SnapshotReader {
  readonly #issues: IssueList;
  readonly #slice = createTimeSlice();
  /** Sets by key: of the snapshot before, and read from this one. */
  readonly #held: ReadonlyMap<string, ServedSet>;
  readonly #sets = new Map<string, ServedSet>();
  #characters = 0;

  constructor(issues: IssueList, previous?: CheckedSets) {
    this.#issues = issues;
    this.#held = new Map(Object.entries(previous?.servedSets ?? {}));
  }

  async snapshot(input: unknown): Promise<Snapshot | undefined> {
    if (!this.#isObject(input, '')) return undefined;
    const { servers: givenServers, servedSets, apiServices, customResourceGroups, ...rest } = input;
    const head = this.#read(snapshotHead, rest, '');
    const servers = await this.#list(
      givenServers,
      'servers',
      snapshotLimits.servers,
      this.#serverReader(servedSets),
    );
    // A control plane without servers responds to no one, so this snapshot cannot have been made of one.
    if (Array.isArray(givenServers) && givenServers.length === 0) {
      this.#issues.add('servers', 'must list at least one server');
    }
    if (servedSets !== undefined || this.#held.size === 0) await this.#readSets(servedSets);
    const served = new Set(servers.map(({ serves }) => serves));
    const kept = [...this.#held].filter(([key]) => served.has(key));
    for (const [, set] of kept) await this.#fits(set);
    const read = [...this.#sets].filter(([key]) => served.has(key) && !this.#held.has(key));
    const snapshot = {
      servers,
      // Sets that are held stand first: the others were sent as their difference from these.
      servedSets: Object.fromEntries([...kept, ...read]),
      apiServices: await this.#list(
        apiServices,
        'apiServices',
        snapshotLimits.apiServices,
        this.#apiServiceReader(),
      ),
      customResourceGroups: await this.#list(
        customResourceGroups,
        'customResourceGroups',
        snapshotLimits.customResourceGroups,
        this.#value(customResourceGroup),
      ),
    };
    return head !== undefined && this.#issues.count === 0 ? { ...head, ...snapshot } : undefined;
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
      const isGiven = isJsonObject(servedSets) ? Object.hasOwn(servedSets, serves) : this.#held.size === 0;
      if (!isGiven && !this.#held.has(serves)) {
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

  async #readSets(input: unknown): Promise<void> {
    const maximum = snapshotLimits.servedSets;
    await this.#record(input, 'servedSets', maximum, setKeyIssue, async (given, path, key) => {
      const before = checkedBefore(checkedSets, given);
      const isSame = before?.key === key && (await this.#fits(before.set));
      const read = isSame ? before : await this.set(given, path);
      if (read === undefined || setKeyIssue(key) !== undefined) return;
      if (read.key === key) this.#sets.set(key, read.set);
      else this.#issues.add(path, `must be named by the hash of its content, ${read.key}`);
    });
  }

  async set(
    given: unknown,
    path: string,
  ): Promise<{ readonly key: string; readonly set: ServedSet } | undefined> {
    const issuesBefore = this.#issues.count;
    if (!this.#isObject(given, path)) return undefined;
    for (const key of Object.keys(given)) {
      if (setMembers.has(key)) continue;
      this.#issues.add(fieldPath(path, key), nameIssue(key) ?? 'is not a field of this object');
    }
    const base = this.#baseOf(given, path);
    if (base === 'unknown') return undefined;
    const set = await this.#members({ given, path, base });
    // The hash of an invalid set is not compared: a second error would not help.
    if (this.#issues.count !== issuesBefore || set === undefined) return undefined;
    if (!(await this.#fits(set, base))) return undefined;
    const checked = { key: await servedSetKey(set, this.#slice), set };
    checkedSets.set(set, checked);
    return checked;
  }

  /** @returns the set that this one differs from; `undefined`: it is whole */
  #baseOf(given: Readonly<Record<string, unknown>>, path: string): ServedSet | 'unknown' | undefined {
    if (given['base'] === undefined) return undefined;
    const key = String(given['base']);
    const base = this.#sets.get(key) ?? this.#held.get(key);
    if (base !== undefined) return base;
    this.#issues.add(fieldPath(path, 'base'), 'must be the key of a set before it, or of one that is held');
    return 'unknown';
  }

  async #members(place: SetPlace): Promise<ServedSet | undefined> {
    const { path, base } = place;
    const discovery = await this.#member(place, 'discovery', base?.discovery, (value, itsPath) =>
      this.#list(value, itsPath, snapshotLimits.groups, (each, at) => this.#groupOrPlace(each, at, base)),
    );
    const storageVersions = await this.#map(place, 'storageVersions', base?.storageVersions, servedVersions);
    const subresources = await this.#map(place, 'subresources', base?.subresources, subresourcesByVersion);
    const inBase = base?.storageVersionHashes;
    const hashes = await this.#map(place, 'storageVersionHashes', inBase, storageVersionHash);
    const schemas = await this.#map(place, 'schemas', base?.schemas, schemaDigests);
    const limits = { maximum: snapshotLimits.documents, keyIssue: documentPathIssue };
    const openapiV3 = await this.#map(place, 'openapiV3', base?.openapiV3, serverRelativeURL, limits);
    if (storageVersions === undefined) {
      this.#issues.add(fieldPath(path, 'storageVersions'), 'is required');
      return undefined;
    }
    return {
      ...(discovery && { discovery }),
      storageVersions,
      ...(subresources && { subresources }),
      ...(hashes && { storageVersionHashes: hashes }),
      ...(schemas && { schemas }),
      ...(openapiV3 && { openapiV3 }),
    };
  }

  /** A member that is left out is as in the base. `null` takes away what the base has. */
  async #member<Value>(
    { given, path, base }: SetPlace,
    name: SetMember,
    inBase: Value | undefined,
    read: (input: unknown, itsPath: string) => Promise<Value>,
  ): Promise<Value | undefined> {
    const value = given[name];
    if (value === undefined) return inBase;
    return base !== undefined && value === null ? undefined : read(value, fieldPath(path, name));
  }

  /** An entry that is left out is as in the base; `null` takes it away. */
  #map<Value>(
    place: SetPlace,
    name: SetMember,
    inBase: Readonly<Record<string, Value>> | undefined,
    schema: v.GenericSchema<unknown, Value>,
    { maximum, keyIssue } = ofResources,
  ) {
    return this.#member(place, name, inBase, async (value, itsPath) => {
      const changes = await this.#record<Value | null>(value, itsPath, maximum, keyIssue, (each, at) =>
        each === null && inBase !== undefined ? null : this.#read(schema, each, at),
      );
      const whole = new Map(Object.entries(inBase ?? {}));
      for (const [key, change] of Object.entries(changes)) {
        if (change === null) whole.delete(key);
        else whole.set(key, change);
      }
      if (whole.size > maximum) this.#issues.add(itsPath, `must not come to more than ${maximum} entries`);
      return Object.fromEntries(whole);
    });
  }

  #groupOrPlace(
    given: unknown,
    path: string,
    base: ServedSet | undefined,
  ): APIGroupDiscovery | undefined | Promise<APIGroupDiscovery | undefined> {
    if (typeof given !== 'number') return checkedBefore(checkedGroups, given) ?? this.#group(given, path);
    const group = base?.discovery?.[given];
    if (group === undefined) {
      const range = `which has ${base?.discovery?.length ?? 0}`;
      this.#issues.add(path, `must be a group, or the place of one in the base, ${range}`);
    }
    return group;
  }

  /** True if the sets until this one, with everything that they share written out for each, are small enough. */
  async #fits(set: ServedSet, base?: ServedSet): Promise<boolean> {
    const { unpacked } = snapshotLimits;
    const isFirst = this.#characters <= unpacked;
    // Groups that were stored are not parsed for this.
    const stored = knownTextsOf(set)?.get('discovery');
    for (const group of stored ?? set.discovery ?? []) {
      this.#characters += (typeof group === 'string' ? group : groupText(group)).length;
      await this.#slice.rest();
    }
    const own = setMaps.filter((name) => set[name] !== base?.[name]);
    for (const name of own) this.#characters += entryCharacters * Object.keys(set[name] ?? {}).length;
    if (this.#characters <= unpacked) return true;
    if (isFirst) this.#issues.add('servedSets', `must not stand for more than ${unpacked} characters`);
    return false;
  }

  async #group(input: unknown, path: string): Promise<APIGroupDiscovery | undefined> {
    const issuesBefore = this.#issues.count;
    const group = await this.#withList(
      groupDiscovery,
      input,
      path,
      'versions',
      snapshotLimits.versions,
      (each, place) =>
        this.#withList(
          versionDiscovery,
          each,
          place,
          'resources',
          snapshotLimits.resources,
          this.#value(resourceDiscovery),
        ),
    );
    if (group === undefined || this.#issues.count > issuesBefore) return undefined;
    checkedGroups.set(group, group);
    return group;
  }

  /** An object with a list, which may be left out, and is read item by item. */
  async #withList<Schema extends v.GenericSchema<unknown, object>, const Name extends string, Item>(
    schema: Schema,
    input: unknown,
    path: string,
    name: Name,
    maximum: number,
    readItem: Read<Item>,
  ): Promise<(v.InferOutput<Schema> & { readonly [Key in Name]?: readonly Item[] }) | undefined> {
    if (!this.#isObject(input, path)) return undefined;
    const { [name]: list, ...rest } = input;
    const object = this.#read(schema, rest, path);
    const items =
      list === undefined ? undefined : await this.#list(list, `${path}.${name}`, maximum, readItem);
    return object && { ...object, ...(items && { [name]: items }) };
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

  /** The entries of a map that `readEntry` could read. @param keyIssue the error of a key, if it has one */
  async #record<Value>(
    input: unknown,
    path: string,
    maximum: number,
    keyIssue: (key: string) => string | undefined,
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
