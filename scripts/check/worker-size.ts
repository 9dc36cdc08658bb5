/** Holds a Worker to its limits: what a start and a first request load. Exits 1 and names every fault. */
import { sizeFaults } from '../worker/bundle-size.ts';
import { bundleWorker } from '../worker/bundle-worker.ts';

const faults = sizeFaults(await bundleWorker());
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
