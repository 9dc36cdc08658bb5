import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { kubeAdmManifest } from '../serve/kube-apiserver-manifest.ts';
import type { FileChange } from './file-change.ts';
import { InstallationRefused } from './kubeadm-plan.ts';
import { moveKubeApiServer } from './move-kube-apiserver.ts';

const journalSchema = v.object({
  version: v.literal(1),
  /** The port that clients know. */
  port: v.number(),
  files: v.array(
    v.object({
      path: v.string(),
      /** What was there; `null`: nothing. */
      before: v.nullable(v.string()),
      /** Hexadecimal SHA-256 of what was written. */
      written: v.string(),
      mode: v.number(),
      isSecret: v.boolean(),
    }),
  ),
});

/** What an installation has changed on a node, in its order: enough to take it back. */
export type Journal = v.InferOutput<typeof journalSchema>;

/** @throws {InstallationRefused} when it is not one of this version */
export function parseJournal(path: string, text: string): Journal {
  try {
    return v.parse(journalSchema, JSON.parse(text));
  } catch (cause) {
    throw new InstallationRefused(
      `${path} is no journal of this version: undo with the version that wrote it, or by hand`,
      { cause },
    );
  }
}

/** A further change. What was there before the first one stays what is to be put back. */
export function withChange(journal: Journal, { path, before, after, mode, isSecret }: FileChange): Journal {
  const known = journal.files.find((file) => file.path === path);
  const file = {
    path,
    before: known === undefined ? (before ?? null) : known.before,
    written: digestOf(after ?? ''),
    mode,
    isSecret: isSecret === true,
  };
  return { ...journal, files: [...journal.files.filter((each) => each.path !== path), file] };
}

/**
 * What has to change to take an installation back, the last change first. What kubeadm has written anew since, such as
 * kube-apiserver in another version, is kept, and moved back to its port. Pure.
 * @throws {InstallationRefused} when somebody else has changed a file that was there before
 */
export function planUndo(journal: Journal, files: ReadonlyMap<string, string>): readonly FileChange[] {
  return journal.files.toReversed().flatMap(({ path, before, written, mode, isSecret }): FileChange[] => {
    const present = files.get(path);
    const change = (after: string | undefined): FileChange[] =>
      present === after ? [] : [{ path, before: present, after, mode, isSecret }];
    // The router's own: gone, whatever has been changed in it.
    if (before === null) return change(undefined);
    if (present === before || (present !== undefined && digestOf(present) === written)) return change(before);
    if (path === kubeAdmManifest && present !== undefined) return change(movedBack(present, journal.port));
    throw new InstallationRefused(
      `${path} has been changed since, or is gone: put it back by hand, then undo again. It was:\n${before}`,
    );
  });
}

function movedBack(manifest: string, port: number): string {
  try {
    return moveKubeApiServer(manifest, port);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new InstallationRefused(`${kubeAdmManifest} ${cause.message}`, { cause });
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
