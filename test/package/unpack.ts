import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** As npm unpacks a package. */
export function unpack(tarball: string, directory: string): void {
  mkdirSync(directory, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', directory]);
}
