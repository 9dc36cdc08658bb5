import type { ConformanceRuntime } from '../runtime.ts';
import { bun } from './bun.ts';
import { deno } from './deno.ts';
import { inProcess } from './in-process.ts';
import { miniflare } from './miniflare.ts';
import { nodeHttp1, nodeHttp2 } from './node.ts';
import { workerd } from './workerd.ts';

/** Every runtime, in the order of the page's columns. */
export const runtimes: readonly ConformanceRuntime[] = [
  nodeHttp2,
  nodeHttp1,
  inProcess,
  miniflare,
  workerd,
  deno,
  bun,
];
