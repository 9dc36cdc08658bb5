import * as v from 'valibot';
import { errorMessage } from '../../runtime/error-message.ts';
import type { AddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import type { ClusterCredentials } from '../../sync/node/cluster-access.ts';
import { type SyncPermission, syncPermissions } from '../../sync/sync-permissions.ts';
import { askOverHttps, type HttpsResponse } from '../terminal/ask-over-https.ts';
import { type Finding, longestResponse, type Question, questionHeaders, responseTimeout } from './finding.ts';
import { askWhoCalls } from './identity-findings.ts';

/** A server that the sync job reads. */
export interface ReadServer {
  readonly id: string;
  /** `https://host:port`; then the path that a kubeconfig may name. */
  readonly origin: string;
  /** The name its certificate must carry; default the host. */
  readonly serverName: string | undefined;
  /** Where the address is the snapshot's. */
  readonly addressPolicy?: AddressPolicy | undefined;
  /** Asked only when no other server responds. */
  readonly isSpare?: boolean;
}

/** One server's view of the sync job. */
interface RightsOfServer {
  readonly id: string;
  /** Name that it knows the reader by; `undefined`: it does not say. */
  readonly user: string | undefined;
  /** The reader in a sentence. */
  readonly name: string;
  readonly missing: readonly SyncPermission[];
}

/** Who reads the cluster: there may be several sync jobs, which elect a leader; a router reads for itself alone. */
export type ClusterReader = 'the sync job' | 'this router';

/** Of the findings about a reader. */
export function rightsCheck(reader: ClusterReader): string {
  return `rights of ${reader}`;
}

/**
 * Asks each server, as the reader, whether it may do all that reading the cluster takes. Servers share their roles through
 * etcd; what differs between them is whom they take the caller for.
 */
export async function syncRightsFindings(
  servers: readonly ReadServer[],
  credentials: ClusterCredentials,
  reader: ClusterReader,
): Promise<readonly Finding[]> {
  const check = rightsCheck(reader);
  const permissions = syncPermissions.filter(
    ({ neededFor }) => reader === 'the sync job' || neededFor !== 'leader-election',
  );
  const asked = await Promise.all(
    servers.map((server) => rightsOf(server, credentials, permissions, reader)),
  );
  const rights = asked.filter((result) => 'missing' in result);
  const complete = rights
    .filter(({ missing }) => missing.length === 0)
    .map(
      ({ id, name }): Finding => ({
        check,
        result: 'ok',
        message: `${id} gives ${name} every right it needs`,
      }),
    );
  return [...complete, ...asked.filter((result) => 'result' in result), ...missingFindings(rights, check)];
}

async function rightsOf(
  server: ReadServer,
  credentials: ClusterCredentials,
  permissions: readonly SyncPermission[],
  reader: ClusterReader,
): Promise<RightsOfServer | Finding> {
  const check = rightsCheck(reader);
  const ask = (question: Question): Promise<HttpsResponse> => askAsSyncJob(server, credentials, question);
  try {
    const seen = await askWhoCalls(ask);
    if (seen.kind === 'refused') {
      const message = `${server.id} does not know ${reader} (401): are its credentials expired, or of another cluster?`;
      return { check, result: 'failed', message };
    }
    const missing: SyncPermission[] = [];
    for (const permission of permissions) {
      if (permission.neededFor === 'storage-versions' && !(await servesStorageVersions(ask))) continue;
      const lacked = await missingOf(permission, ask);
      if (lacked !== undefined) missing.push(lacked);
    }
    const user = seen.kind === 'user' ? seen.name : undefined;
    return { id: server.id, user, name: user === undefined ? reader : `"${user}"`, missing };
  } catch (error) {
    const message = `${server.id} cannot be asked at ${server.origin}: ${errorMessage(error)}`;
    return server.isSpare === true
      ? {
          check,
          result: 'warning',
          message: `${message}; the router asks it only when no other server responds`,
        }
      : { check, result: 'failed', message };
  }
}

/** Alpha and off by default: where it is off no right to it is needed, and kubectl makes no role for it. */
async function servesStorageVersions(ask: (question: Question) => Promise<HttpsResponse>): Promise<boolean> {
  const { status } = await ask({ method: 'GET', target: '/apis/internal.apiserver.k8s.io/v1alpha1' });
  return status === 200;
}

/** One finding for each thing that a user lacks, with the servers that say so. */
function missingFindings(rights: readonly RightsOfServer[], check: string): readonly Finding[] {
  const lacks = rights.flatMap(({ id, user, name, missing }) =>
    missing.map((permission) => {
      const { result, why } = needs[permission.neededFor];
      const message = `${name} may not ${whatOf(permission)}${why}`;
      return { id, result, message, commands: grantCommands(permission, user) };
    }),
  );
  return [...Map.groupBy(lacks, ({ message }) => message).values()].flatMap((alike): readonly Finding[] => {
    const [first] = alike;
    if (first === undefined) return [];
    const { result, message, commands } = first;
    const ids = alike.map(({ id }) => id).sort();
    return [{ check, result, message: `at ${ids.join(', ')}, ${message}`, commands }];
  });
}

const needs = {
  always: { result: 'failed', why: '' },
  'storage-versions': { result: 'warning', why: ' (needed as long as the StorageVersion API is on)' },
  'leader-election': { result: 'warning', why: ' (needed with --leader-elect)' },
} as const;

function whatOf(permission: SyncPermission): string {
  const verbs = permission.verbs.join(' and ');
  if (permission.kind === 'path') return `${verbs} ${permission.paths.join(', ')}`;
  const { group, resource, namespace, name } = permission;
  const object = name === undefined ? '' : ` ${name}`;
  return `${verbs} ${resource}${group === '' ? '' : `.${group}`}${object}${namespace === undefined ? '' : ` in ${namespace}`}`;
}

function askAsSyncJob(
  { origin, serverName, addressPolicy }: ReadServer,
  { certificateAuthorities, clientCertificate, headers }: ClusterCredentials,
  question: Question,
): Promise<HttpsResponse> {
  const { method, target, body } = question;
  return askOverHttps({
    url: `${origin}${target}`,
    method,
    body,
    serverName,
    certificateAuthorities,
    clientCertificate,
    headers: [...questionHeaders(question), ...headers],
    addressPolicy,
    responseTimeout,
    longestResponse,
  });
}

/**
 * The kubectl commands that give a user what it lacks: a role of its own for each permission, so that nothing that is
 * there is changed. Pure.
 * @param user name that API servers know the caller by; `undefined`: not known, to be filled in
 */
export function grantCommands(permission: SyncPermission, user: string | undefined): readonly string[] {
  const { verbs } = permission;
  const namespace = permission.kind === 'path' ? undefined : permission.namespace;
  const kind = namespace === undefined ? 'clusterrole' : 'role';
  const name = roleName(permission);
  const inNamespace = namespace === undefined ? [] : ['-n', namespace];
  const role = [
    'kubectl',
    'create',
    kind,
    name,
    ...inNamespace,
    `--verb=${verbs.join(',')}`,
    ...roleArguments(permission),
  ];
  const binding = [
    'kubectl',
    'create',
    `${kind}binding`,
    name,
    ...inNamespace,
    `--${kind}=${name}`,
    subjectOf(user),
  ];
  return [role, binding].map((words) => words.map(word).join(' '));
}

function roleName(permission: SyncPermission): string {
  const what = permission.kind === 'path' ? 'paths' : permission.resource;
  const purpose = permission.neededFor === 'leader-election' ? `-${permission.verbs.join('-')}` : '';
  return `mixed-version-proxy-sync-${what}${purpose}`;
}

function roleArguments(permission: SyncPermission): readonly string[] {
  if (permission.kind === 'path') return permission.paths.map((path) => `--non-resource-url=${path}`);
  const { group, resource, name } = permission;
  return [
    `--resource=${resource}${group === '' ? '' : `.${group}`}`,
    ...(name === undefined ? [] : [`--resource-name=${name}`]),
  ];
}

function subjectOf(user = 'USER'): string {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  return namespace === undefined ? `--user=${user}` : `--serviceaccount=${namespace}:${name}`;
}

/** One word of a shell. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const reviewSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ status: v.object({ allowed: v.boolean() }) }),
);

/**
 * Asks a server what of a permission the caller lacks, by a SelfSubjectAccessReview for each verb (authorization.k8s.io
 * /v1), one after the other: a server that is to be checked is not to be loaded. Rules (SelfSubjectRulesReview) would take
 * one question, and are incomplete where an authorizer cannot list them.
 * @returns the permission with what is missing of it; `undefined` when nothing is
 * @throws when it does not say whether access is allowed
 */
async function missingOf(
  permission: SyncPermission,
  ask: (question: Question) => Promise<HttpsResponse>,
): Promise<SyncPermission | undefined> {
  const refused = async (values: readonly string[], attributesOf: (value: string) => object) => {
    const missing: string[] = [];
    for (const value of values) {
      if (!(await isAllowed(attributesOf(value), ask))) missing.push(value);
    }
    return missing;
  };
  if (permission.kind === 'path') {
    // A rule for /apis/* covers the path of that very name, and no rule for single paths does.
    const paths = await refused(permission.paths, (path) => ({
      nonResourceAttributes: { path, verb: 'get' },
    }));
    return paths.length === 0 ? undefined : { ...permission, paths };
  }
  const { group, resource, namespace, name } = permission;
  const verbs = await refused(permission.verbs, (verb) => ({
    resourceAttributes: { group, version: '*', resource, verb, namespace, name },
  }));
  return verbs.length === 0 ? undefined : { ...permission, verbs };
}

async function isAllowed(
  attributes: object,
  ask: (question: Question) => Promise<HttpsResponse>,
): Promise<boolean> {
  const { status, text } = await ask({
    method: 'POST',
    target: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: attributes,
    }),
  });
  const review = v.safeParse(reviewSchema, text);
  if (status === 201 && review.success) return review.output.status.allowed;
  throw new TypeError(`it returned ${status} for a SelfSubjectAccessReview`);
}
