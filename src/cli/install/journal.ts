import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { fromJson } from '../../runtime/validation.ts';
import type { FileChange } from './file-change.ts';
import { InstallationRefused, type KubeadmNode } from './kubeadm-node.ts';
import { routerPaths } from './router-files.ts';

const journalSchema = v.object({
  version: v.literal(1),
  /** The port that clients know: kube-apiserver's before anything was installed. */
  port: v.number(),
  /** The router's: the same where it has taken that port. */
  routerPort: v.number(),
  files: v.array(
    v.object({
      path: v.string(),
      /** Content before the installation; `null`: there was no file. */
      before: v.nullable(v.string()),
      /** Hexadecimal SHA-256 of what was written. */
      written: v.string(),
      /** The same of what was written before: a run that is cut off may have left that. */
      replaced: v.optional(v.string()),
      mode: v.number(),
      isSecret: v.boolean(),
    }),
  ),
});

/** Changes of an installation on a node, in its order: enough to take it back. */
export type Journal = v.InferOutput<typeof journalSchema>;

/** @throws {InstallationRefused} when it is not one of this version */
export function parseJournal(text: string): Journal {
  const result = v.safeParse(fromJson(journalSchema), text);
  if (result.success) return result.output;
  throw new InstallationRefused(
    `${routerPaths.journal} is no journal of this version: undo with the version that wrote it, or by hand`,
  );
}

/**
 * A further change. What was there before the first one stays what is to be put back, and when: a kube-apiserver that is
 * moved once more still gets its port back after the router has left it.
 */
export function withChange(journal: Journal, { path, before, after, mode, isSecret }: FileChange): Journal {
  const known = journal.files.find((file) => file.path === path);
  const file = {
    path,
    before: known === undefined ? (before ?? null) : known.before,
    written: digestOf(after ?? ''),
    ...(known === undefined ? {} : { replaced: known.written }),
    mode,
    isSecret: isSecret === true,
  };
  const files =
    known === undefined
      ? [...journal.files, file]
      : journal.files.map((each) => (each.path === path ? file : each));
  return { ...journal, files };
}

/**
 * Changes that take an installation back, the last change first. Pure.
 * @param mended what a file becomes that a tool of the machine may have written anew since; `undefined`: no tool does that
 * @throws {InstallationRefused} when somebody else has changed a file that was there before
 */
export function planUndo(
  journal: Journal,
  files: ReadonlyMap<string, string>,
  mended: (path: string, present: string, before: string) => string | undefined = () => undefined,
): readonly FileChange[] {
  return journal.files.toReversed().flatMap((file): FileChange[] => {
    const { path, before, mode, isSecret } = file;
    const present = files.get(path);
    const change = (after: string | undefined): FileChange[] =>
      present === after ? [] : [{ path, before: present, after, mode, isSecret }];
    // The router's own: gone, whatever has been changed in it.
    if (before === null) return change(undefined);
    const whole = present === undefined ? undefined : mended(path, present, before);
    if (whole !== undefined) return change(whole);
    if (present === before || isWritten(file, present)) return change(before);
    throw new InstallationRefused(
      `${path} has been changed since, or is gone: put it back by hand, then undo again. ${isSecret ? 'It holds a key: what it was is in the journal' : `It was:\n${before}`}`,
    );
  });
}

/** `undefined`: there is none, so nothing is installed. @throws {InstallationRefused} */
export async function readJournal(node: KubeadmNode): Promise<Journal | undefined> {
  const text = await node.read(routerPaths.journal);
  return text === undefined ? undefined : parseJournal(text);
}

/** For root alone: it holds what was there before, keys included. @throws {InstallationRefused} */
export function writeJournal(journal: Journal, node: KubeadmNode): Promise<void> {
  const after = `${JSON.stringify(journal, null, 2)}\n`;
  return node.write({ path: routerPaths.journal, after, mode: 0o600, isSecret: true });
}

/** Content of these files, and of those that an installation has changed, by path. Missing files are left out. */
export async function presentFiles(
  paths: readonly string[],
  journal: Journal | undefined,
  host: KubeadmNode,
): Promise<ReadonlyMap<string, string>> {
  const present = new Map<string, string>();
  for (const path of new Set([...paths, ...(journal?.files.map((file) => file.path) ?? [])])) {
    const text = await host.read(path);
    if (text !== undefined) present.set(path, text);
  }
  return present;
}

/** True if an installation made this file, and nobody has changed it since. Pure. */
export function isMade(journal: Journal | undefined, path: string, present: string | undefined): boolean {
  const file = journal?.files.find((each) => each.path === path);
  return file?.before === null && isWritten(file, present);
}

function isWritten({ written, replaced }: Journal['files'][number], present: string | undefined): boolean {
  return present !== undefined && [written, replaced].includes(digestOf(present));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
