import { bundleWorkerBuild, type WorkerBuild } from '../../../demo/edge/worker-build.ts';

let built: Promise<WorkerBuild> | undefined;

/** The Worker as `npm run build -- --worker` builds it, built once for all rounds. */
export function workerBuild(): Promise<WorkerBuild> {
  built ??= bundleWorkerBuild();
  return built;
}
