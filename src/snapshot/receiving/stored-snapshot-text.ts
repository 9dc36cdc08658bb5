import type { StoredSnapshot } from './snapshot-store.ts';

/**
 * What is held, as text for a file or a key-value store: the sealed snapshot on the first line, its last renewal on
 * the second. A bare sealed snapshot is such a text, too.
 */
export function storedSnapshotText({ snapshot, renewal }: StoredSnapshot): string {
  return renewal === undefined ? `${snapshot}\n` : `${snapshot}\n${renewal}\n`;
}

/** Reads such a text. Nothing is checked: what comes back goes through `SnapshotReceiver`. */
export function parseStoredSnapshotText(text: string): StoredSnapshot {
  const [snapshot = '', renewal = ''] = text.split(/\r?\n/, 2);
  return renewal === '' ? { snapshot } : { snapshot, renewal };
}
