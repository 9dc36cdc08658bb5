import type { SyncPermission } from '../../sync/sync-permissions.ts';

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
    ...whatOf(permission),
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

function whatOf(permission: SyncPermission): readonly string[] {
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
