import { deno } from './runtimes/deno.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(deno);
