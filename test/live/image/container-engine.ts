import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');

/** What the environment names: docker or podman, and images in place of those that the Dockerfile begins with. */
export const engine = process.env['TEST_ASSET_CONTAINER_ENGINE'] ?? '';
const buildArguments = Object.entries({
  NODE_IMAGE: process.env['TEST_ASSET_NODE_IMAGE'] ?? '',
  RUNTIME_IMAGE: process.env['TEST_ASSET_RUNTIME_IMAGE'] ?? '',
}).flatMap(([name, image]) => (image === '' ? [] : [`--build-arg=${name}=${image}`]));

/** What a command of the engine prints. @throws with what it says when it fails */
export async function runEngine(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(engine, [...args], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** Builds the image from the checkout. @returns its name */
export async function buildImage(): Promise<string> {
  const image = 'localhost/mixed-version-proxy:test';
  await runEngine('build', '--file=deploy/docker/Dockerfile', ...buildArguments, `--tag=${image}`, '.');
  return image;
}
