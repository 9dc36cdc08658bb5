/**
 * Holds src/http2 to be a room of its own (src/http2/README.md): it imports nothing of what is around it, and nobody
 * around it speaks of frames. Exits 1 and names every fault.
 */
import { importsOf, sourceFiles } from './imports.ts';

const room = 'src/http2/';
/** What the room may import besides its own files. */
const packages = /^(?:node:|undici$|@hono\/node-server\/)/;
/** What of the room is for the room alone. */
const inner = /^src\/http2\/(?:frames|hpack)\//;

const faults: string[] = [];
for (const file of sourceFiles()) {
  for (const imported of importsOf(file)) {
    if (file.startsWith(room)) {
      if (!imported.startsWith(room) && !packages.test(imported)) {
        faults.push(`${file}: imports ${imported}: HTTP/2 knows nothing of what is around it`);
      }
    } else if (inner.test(imported)) {
      faults.push(`${file}: imports ${imported}: frames are a matter of ${room} alone`);
    }
  }
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log('src/http2: a room of its own');
