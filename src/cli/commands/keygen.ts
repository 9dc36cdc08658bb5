import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { JWK } from 'jose';
import { choice, directory, section, setting } from '../../node/configuration/setting-types.ts';
import { makeDirectory } from '../../node/files/make-directory.ts';
import { replaceFile, writeNewFile } from '../../node/files/write-whole-file.ts';
import { errorCode, fileErrorMessage } from '../../runtime/errors.ts';
import {
  describeKeysIssue,
  parseSnapshotKeys,
  type SnapshotAlgorithm,
  snapshotAlgorithms,
} from '../../snapshot/signing/keys.ts';
import { generateSigningKey } from '../../snapshot/signing/seal.ts';
import { readFlags } from '../settings/read-settings.ts';
import { type Command, helpHint } from '../terminal/command.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { jsonText } from '../terminal/structured-text.ts';

/** Secret, for the sync job alone. */
export const signingKeyFile = 'snapshot-signing-key.json';
/** Public, for every router. */
export const publicKeysFile = 'snapshot-keys.json';

const flags = section('Flags:', {
  out: setting('out', directory, { description: 'Where to write both files; made if needed. Required.' }),
  algorithm: setting('algorithm', choice(...snapshotAlgorithms), {
    default: 'EdDSA',
    description: 'Signature algorithm.',
  }),
});

export const keygenCommand: Command = {
  description: `Make a key pair for signing snapshots: ${signingKeyFile} for the sync job, and ${publicKeysFile} for every router. Keys in ${publicKeysFile} stay valid beside the new one, for rotation. A pair can also sign an edge router's assertions: the private key is its ASSERTION_SIGNING_KEY, and the public one, with an "issuer" added, belongs into --assertion-keys of the routers behind it.`,
  examples: [
    { comment: 'The first key pair.', line: 'keygen --out keys' },
    {
      comment:
        'Rotation: put the old private key aside, give the routers both public keys, then the sync job the new private one.',
      line: 'keygen --out keys',
    },
  ],
  flags: [flags],
  async run(given, context) {
    const { out, algorithm } = readFlags(flags, given);
    if (out === undefined) throw new CommandFailure(2, ['--out is required'], { hint: helpHint });
    const kid = await generateKeyFiles(out, algorithm);
    await context.writeOutput(
      `key ${kid} (${algorithm})\n${join(out, signingKeyFile)}  private, for the sync job\n${join(out, publicKeysFile)}  public, for every router\n`,
    );
    return 0;
  },
};

/**
 * Writes a new key pair. A private key that is there already is never touched.
 * @returns the new key's ID
 * @throws {CommandFailure} when nothing was written, and why
 */
export async function generateKeyFiles(directory: string, algorithm: SnapshotAlgorithm): Promise<string> {
  const privatePath = join(directory, signingKeyFile);
  const publicPath = join(directory, publicKeysFile);
  const { kid, privateJwk, publicJwk } = await generateSigningKey(algorithm);
  try {
    if (!(await makeDirectory(resolve(directory)))) {
      throw new CommandFailure(2, [`--out: ${directory} is a file, or below one: name a directory`]);
    }
    const known = await readPublicKeys(publicPath);
    // Never over another one: checking first and writing later would leave a gap for another run to fall into.
    await writeNewFile(privatePath, temporaryFor(privatePath), jsonText(privateJwk));
    try {
      // Routers may read the file at any moment: they see the old one or the new one, whole.
      const keys = jsonText({ keys: [...known, publicJwk] });
      await replaceFile(publicPath, temporaryFor(publicPath), keys, 0o644);
    } catch (error) {
      // A private key without its public half is useless.
      await rm(privatePath, { force: true });
      throw error;
    }
    return kid;
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    const taken = errorCode(cause) === 'EEXIST';
    const reason = taken
      ? `${privatePath} exists: move it away first; it is never overwritten`
      : `cannot write to ${directory}: ${fileErrorMessage(cause)}`;
    throw new CommandFailure(1, [reason], { cause });
  }
}

async function readPublicKeys(path: string): Promise<readonly JWK[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
  const result = await parseSnapshotKeys(text);
  if (!result.ok) {
    const issues = result.issues.map((issue) => describeKeysIssue(path, issue));
    throw new CommandFailure(1, [`${path} is in the way: it is no set of public snapshot keys`, ...issues]);
  }
  return (JSON.parse(text) as { readonly keys: readonly JWK[] }).keys;
}

function temporaryFor(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
}
