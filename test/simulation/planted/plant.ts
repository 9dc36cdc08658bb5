import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { plantedFaults } from './planted-faults.ts';

/** Puts one fault into the program, which must not have been loaded yet. @throws when there is no such text any more */
export function plant(name: string): void {
  const fault = plantedFaults.find((each) => each.name === name);
  if (fault === undefined) throw new RangeError(`no planted fault is called ${name}`);
  const { file, text, replacement } = fault;
  const url = pathToFileURL(join(import.meta.dirname, '..', '..', '..', file)).href;
  registerHooks({
    load(loadedUrl, context, next) {
      const loaded = next(loadedUrl, context);
      if (loadedUrl !== url) return loaded;
      const source = String(loaded.source);
      if (!source.includes(text)) throw new Error(`"${name}" no longer fits ${file}`);
      return { ...loaded, source: source.replace(text, replacement) };
    },
  });
}
