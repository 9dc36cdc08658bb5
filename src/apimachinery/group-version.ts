/** `<group>.<resource>`, the name of a StorageVersion object; the group of core is written `core`. */
export function storageVersionName(group: string, resource: string): string {
  return `${group === '' ? 'core' : group}.${resource}`;
}

/** Cuts a StorageVersion name at its last dot, as upstream does; `undefined` when it has none. */
export function parseStorageVersionName(name: string): { group: string; resource: string } | undefined {
  const dot = name.lastIndexOf('.');
  if (dot <= 0 || dot === name.length - 1) return undefined;
  const group = name.slice(0, dot);
  return { group: group === 'core' ? '' : group, resource: name.slice(dot + 1) };
}

export function groupNameOf(group: { readonly metadata: { readonly name?: string | undefined } }): string {
  return group.metadata.name ?? '';
}

export function groupVersionString(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
