import { bun } from './runtimes/bun.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(bun);
