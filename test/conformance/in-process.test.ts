import { inProcess } from './runtimes/in-process.ts';
import { testRuntime } from './test-runtime.ts';

testRuntime(inProcess);
