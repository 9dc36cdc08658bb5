import { fstatSync } from 'node:fs';
import { CommandFailure } from './command-failure.ts';

/** Standard input; a directory in its place is a wrong call, not an input without lines. */
export async function* standardInput(): AsyncGenerator<Uint8Array> {
  if (fstatSync(0).isDirectory()) throw new CommandFailure(2, ['standard input is a directory']);
  for await (const chunk of process.stdin) yield chunk as Uint8Array;
}
